# simlua: `make help` prints what can be asked of this file.

VERSION := 0.1.0
BUILD   ?= build
PREFIX  ?= /usr/local
CC      ?= gcc
# Where nvcc is found the program holds the CUDA backend; CUDA=0 leaves it out.
NVCC    ?= $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc))
CUDA    ?= $(if $(NVCC),1,0)
# GPU code: machine code for these, and PTX for what comes later. `make ARCH=sm_90` narrows.
ARCH    ?= sm_75 sm_80 sm_90

# --- nothing below needs editing ------------------------------------------------------

pkg = $(shell pkg-config --$(1) $(2) 2>/dev/null)
# A package's archive where it has one, so that one binary can be carried elsewhere.
archive = $(or $(firstword $(wildcard $(foreach d,/usr/lib/$(MULTIARCH) /usr/lib /usr/lib64 /usr/local/lib,$(d)/lib$(1).a))),-l$(1))
MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null)

LUA_INC  := $(firstword $(wildcard /usr/include/lua5.4 /usr/local/include/lua5.4 /usr/include/lua-5.4) /usr/include)
STB_INC  := $(firstword $(wildcard /usr/include/stb /usr/local/include/stb) /usr/include)
LIBS     := $(call archive,lua5.4) $(call archive,deflate) $(call archive,xxhash) -lm -ldl -lpthread

WARN     := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
            -Wpointer-arith -Wwrite-strings -Wvla
# Contraction off: where a fused multiply-add is meant, the source says so. errno and traps
# of the mathematics library are not used, and stand in the way of SIMD.
OPT      ?= -O2 -g
FLOAT    := -ffp-contract=off -fno-math-errno -fno-trapping-math
CPPFLAGS += -D_GNU_SOURCE -I$(LUA_INC) -isystem $(STB_INC) -MMD -MP
CFLAGS   += -std=c11 $(WARN) $(OPT) $(FLOAT) -fopenmp $(SANITIZE)
LDFLAGS  += -fopenmp $(SANITIZE)

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
PRECISION := $(filter %nbody_cpu.c,$(KERN))
OBJ       := $(SRC:%.c=$(BUILD)/%.o) $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(PRECISION),$(KERN))) \
             $(PRECISION:%.c=$(BUILD)/%_f32.o) $(PRECISION:%.c=$(BUILD)/%_f64.o)
ifeq ($(CUDA),1)
CU        := $(wildcard kernels/*.cu)
CU_BOTH   := $(filter %nbody_cuda.cu,$(CU))
OBJ       += $(BUILD)/src/device_cuda.o $(patsubst %.cu,$(BUILD)/%.o,$(filter-out $(CU_BOTH),$(CU))) \
             $(CU_BOTH:%.cu=$(BUILD)/%_f32.o) $(CU_BOTH:%.cu=$(BUILD)/%_f64.o)
LINK      := $(NVCC) -cudart static -Xcompiler "$(strip $(LDFLAGS))"
else
OBJ       += $(BUILD)/kernels/no_cuda.o
LINK      := $(CC) $(LDFLAGS)
endif
CORE      := $(filter-out $(BUILD)/src/main.o,$(OBJ))
FLAGS_TEXT := $(CC) $(OPT) $(SANITIZE) cuda=$(CUDA)$(if $(filter 1,$(CUDA)), arch=$(subst $(space),$(comma),$(ARCH)))

.PHONY: all help galaxy test deps format lint bench asan install uninstall clean
all: $(BUILD)/simlua ## build the program into build/simlua

$(BUILD)/simlua: $(OBJ)
	$(LINK) -o $@ $^ $(LIBS)

$(BUILD)/src/main.o $(BUILD)/src/lua_run.o: CPPFLAGS += -DSIM_VERSION='"$(VERSION)"' -DSIM_FLAGS='"$(FLAGS_TEXT)"'
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

# Each tests/test_x.c is a program of its own, linked with everything but main.
TESTS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/test_*.c))
$(BUILD)/tests/%: $(BUILD)/tests/%.o $(CORE)
	$(LINK) -o $@ $^ $(LIBS)
.PRECIOUS: $(BUILD)/tests/%.o

clean: ## remove what was built
	rm -rf $(BUILD)

help: ## print this list
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
