# simlua: `make help` prints what can be asked of this file.

VERSION := 0.1.0
BUILD   ?= build
PREFIX  ?= /usr/local
ifeq ($(origin CC),default)
CC      := gcc
endif
# Where nvcc is found, and the g++ that it needs, the program holds the CUDA backend too;
# CUDA=0 leaves it out.
NVCC    ?= $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc))
CUDA    ?= $(if $(and $(NVCC),$(shell command -v g++ 2>/dev/null)),1,0)
# GPU code: machine code for these, and PTX for what comes later. `make ARCH=sm_90` narrows.
ARCH    ?= sm_75 sm_80 sm_90
# More words for a command: `make galaxy ARGS="--frames 10"`, `make test ARGS=nbody`.
ARGS    ?=

# --- nothing below needs editing ------------------------------------------------------

# All processors, unless the command line says -j itself; `make clean all` stays in order.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += --no-print-directory -j$(shell nproc 2>/dev/null || echo 1)
endif
ifneq ($(filter clean,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif

# A package's archive where it has one, so that one binary can be carried elsewhere.
archive = $(or $(firstword $(wildcard $(foreach d,/usr/lib/$(MULTIARCH) /usr/lib /usr/lib64 /usr/local/lib,$(d)/lib$(1).a))),-l$(1))
MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null)
# gcc's own OpenMP library is an archive too; another compiler brings its own.
GOMP     := $(filter /%,$(shell $(CC) -print-file-name=libgomp.a 2>/dev/null))

LUA_INC  := $(firstword $(wildcard /usr/include/lua5.4 /usr/local/include/lua5.4 /usr/include/lua-5.4) /usr/include)
STB_INC  := $(firstword $(wildcard /usr/include/stb /usr/local/include/stb) /usr/include)
LIBS     := $(call archive,lua5.4) $(call archive,deflate) $(call archive,xxhash) $(GOMP) -lm -ldl -lpthread

# -Wno-psabi: functions with vectors are all inlined, no call hands one over.
WARN     := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
            -Wpointer-arith -Wwrite-strings -Wvla -Wno-psabi
# Contraction off: where a fused multiply-add is meant, the source says so. errno and traps
# of the mathematics library are not used, and stand in the way of SIMD.
OPT      ?= -O2 -g1
FLOAT    := -ffp-contract=off -fno-math-errno -fno-trapping-math
CPPFLAGS += -D_GNU_SOURCE -I$(LUA_INC) -isystem $(STB_INC) -MMD -MP
CFLAGS   += -std=c11 $(WARN) $(OPT) $(FLOAT) -fopenmp $(SANITIZE)
LDFLAGS  += $(if $(GOMP),,-fopenmp) $(SANITIZE)
# Calls that src/fail.c can make fail, for the tests.
FAILING  := malloc calloc realloc aligned_alloc strdup open write fsync rename mkdir

ARCHES   := $(patsubst sm_%,%,$(ARCH))
GENCODE  := $(foreach a,$(ARCHES),-gencode=arch=compute_$(a),code=sm_$(a)) \
            -gencode=arch=compute_$(lastword $(ARCHES)),code=compute_$(lastword $(ARCHES))
comma    := ,
empty    :=
space    := $(empty) $(empty)
NVFLAGS  += -std=c++17 -O3 -fmad=false -lineinfo $(GENCODE) -MMD -MP -Xcompiler -Wall

# Sources. A file listed under PRECISION is compiled twice, for float and for double.
SRC       := $(filter-out src/device_cuda.c,$(wildcard src/*.c))
KERN      := $(filter-out kernels/no_cuda.c,$(wildcard kernels/*.c))
PRECISION := $(filter kernels/diffusion_cpu% kernels/field_cpu% kernels/flow_cpu% kernels/nbody_cpu%,$(KERN))
OBJ       := $(SRC:%.c=$(BUILD)/%.o) $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(PRECISION),$(KERN))) \
             $(PRECISION:%.c=$(BUILD)/%_f32.o) $(PRECISION:%.c=$(BUILD)/%_f64.o)
ifeq ($(CUDA),1)
CU        := $(wildcard kernels/*.cu)
CU_BOTH   := $(filter kernels/diffusion_cuda% kernels/field_cuda% kernels/flow_cuda% kernels/nbody_cuda%,$(CU))
OBJ       += $(BUILD)/src/device_cuda.o $(patsubst %.cu,$(BUILD)/%.o,$(filter-out $(CU_BOTH),$(CU))) \
             $(CU_BOTH:%.cu=$(BUILD)/%_f32.o) $(CU_BOTH:%.cu=$(BUILD)/%_f64.o)
LINK      := $(NVCC) -cudart static $(FAILING:%=-Xlinker --wrap=%) -Xcompiler "$(strip -static-libgcc -static-libstdc++ $(LDFLAGS))"
else
OBJ       += $(BUILD)/kernels/no_cuda.o
LINK      := $(CC) $(LDFLAGS) $(FAILING:%=-Wl,--wrap=%)
endif
CORE      := $(filter-out $(BUILD)/src/main.o,$(OBJ))
FLAGS_TEXT := $(CC) $(OPT) $(SANITIZE) cuda=$(CUDA)$(if $(filter 1,$(CUDA)), arch=$(subst $(space),$(comma),$(ARCH)))

.PHONY: all help galaxy test deps format lint bench asan install uninstall clean
all: $(BUILD)/simlua ## build the program into build/simlua

$(BUILD)/simlua: $(OBJ)
	$(LINK) -o $@ $^ $(LIBS)

$(BUILD)/src/main.o $(BUILD)/src/lua_host.o: CPPFLAGS += -DSIM_VERSION='"$(VERSION)"' -DSIM_FLAGS='"$(FLAGS_TEXT)"'
$(BUILD)/src/device_cuda.o: src/device_cuda.c
	@mkdir -p $(@D)
	$(NVCC) -x c -Xcompiler "$(subst $(comma),\$(comma),$(strip $(CPPFLAGS) $(CFLAGS)))" -c -o $@ $<
$(BUILD)/%_f64.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -O3 -DSIM_DOUBLE -c -o $@ $<
$(BUILD)/%_f32.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -O3 -c -o $@ $<
$(BUILD)/%_f64.o: %.cu
	@mkdir -p $(@D)
	$(NVCC) $(NVFLAGS) -DSIM_DOUBLE -c -o $@ $<
$(BUILD)/%_f32.o: %.cu
	@mkdir -p $(@D)
	$(NVCC) $(NVFLAGS) -c -o $@ $<
$(BUILD)/%.o: %.cu
	@mkdir -p $(@D)
	$(NVCC) $(NVFLAGS) -c -o $@ $<
$(BUILD)/kernels/%.o: kernels/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -O3 -c -o $@ $<
$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

# Everything built depends on the flags it was built with. The check for what is missing
# comes before the first file is compiled, and again when the flags change.
STAMP := $(VERSION) $(FLAGS_TEXT) $(CPPFLAGS) $(CFLAGS) $(LINK) $(LIBS) $(if $(filter 1,$(CUDA)),$(NVFLAGS))
SETUP := CC='$(CC)' LUA_INC='$(LUA_INC)' STB_INC='$(STB_INC)' NVCC='$(NVCC)' CUDA='$(CUDA)' tools/setup.sh
$(BUILD)/flags: FORCE
	@printf '%s\n' '$(subst ','\'',$(STAMP))' | cmp -s - $@ || { $(SETUP) --check && mkdir -p $(@D) && \
	 printf '%s\n' '$(subst ','\'',$(STAMP))' >$@ && echo "$(ABOUT)"; }
ABOUT := simlua: building for $(if $(filter 1,$(CUDA)),the CPU and CUDA ($(ARCH)),the CPU only$(if \
         $(and $(NVCC),$(filter file,$(origin CUDA))), (nvcc is here but g++ which it needs is not)))
FORCE:

# Each tests/test_x.c is a program of its own, linked with everything but main.
TESTS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/test_*.c))
$(BUILD)/tests/%: $(BUILD)/tests/%.o $(CORE)
	$(LINK) -o $@ $^ $(LIBS)
.PRECIOUS: $(BUILD)/tests/%.o
BENCH := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/bench/*.c))
# What the machine can do at best, linked into every bench.
$(BENCH): $(BUILD)/tests/bench/ceiling/ceiling_cpu.o \
          $(BUILD)/tests/bench/ceiling/$(if $(filter 1,$(CUDA)),ceiling_cuda,no_cuda).o
$(BUILD)/tests/bench/ceiling/%.o: CFLAGS += -O3
$(OBJ) $(TESTS:%=%.o) $(BENCH:%=%.o): $(BUILD)/flags

galaxy: deps ## install what is missing, build, render the galaxy collision
	@$(MAKE) all
	$(BUILD)/simlua $(ARGS) scenes/galaxy.lua

test: deps ## install what is missing, build, run the tests
	@$(MAKE) all $(TESTS)
	@tests/run.sh $(BUILD) $(ARGS)

deps: ## install what is missing (by apt-get), saying what before
	@$(SETUP:CUDA='$(CUDA)'=CUDA='$(if $(filter file,$(origin CUDA)),1,$(CUDA))')

ASAN := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
asan: ## build the CPU program with sanitizers and run the tests at small sizes
	@$(MAKE) BUILD=build-asan CUDA=0 OPT='-O1 -g' SANITIZE='$(ASAN)' all \
	 $(TESTS:$(BUILD)/%=build-asan/%)
	@ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 SIMLUA_SMALL=1 \
	 SIMLUA_SECONDS=900 tests/run.sh build-asan $(ARGS)

bench: all $(BENCH) ## measure the hot kernels
	@for b in $(BENCH); do echo "== $${b##*/}"; $$b $(ARGS) || exit 1; done

C_FILES = $(sort $(shell find src kernels tests -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh'))
format: ## lay out the C and CUDA sources (clang-format)
	clang-format -i $(C_FILES)

lint: ## check layout (clang-format), Lua (luacheck) and C (cppcheck)
	clang-format --dry-run --Werror $(C_FILES)
	luacheck --quiet lib scripts examples tests
	@awk 'FNR == 31 { print FILENAME ": more than 30 lines"; bad = 1 } END { exit bad }' examples/*.lua
	cppcheck --quiet --std=c11 --enable=warning,performance,portability --error-exitcode=1 \
	 $(patsubst %,--suppress=%,$(CPPCHECK_WRONG)) -Isrc -Ikernels src kernels
# cppcheck does not know that luaL_error never returns, nor that the reals of a struct
# sim_real4 are walked by index and bits looked at on purpose.
CPPCHECK_WRONG := nullPointerRedundantCheck missingIncludeSystem objectIndex invalidPointerCast

install: all ## install under PREFIX (/usr/local), below DESTDIR if given
	install -d '$(DESTDIR)$(PREFIX)/bin' '$(SHARE)'
	install -m 755 $(BUILD)/simlua '$(DESTDIR)$(PREFIX)/bin/simlua'
	rm -rf $(foreach d,$(INSTALLED),'$(SHARE)/$(d)')
	cp -R $(INSTALLED) '$(SHARE)'
	chmod -R u=rwX,go=rX '$(SHARE)'
SHARE     = $(DESTDIR)$(PREFIX)/share/simlua
INSTALLED = lib scripts examples README.md LICENSE

uninstall: ## remove what install put there
	rm -f '$(DESTDIR)$(PREFIX)/bin/simlua'
	rm -rf '$(SHARE)'

clean: ## remove what was built
	rm -rf $(BUILD) build-asan build-cpu

help: ## print this list
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
