/* orbit.h - two masses on a conic about each other, for setting up encounters. */
#ifndef SIM_ORBIT_H
#define SIM_ORBIT_H

#include "status.h"

struct sim_orbit_desc {
    double m1, m2, G;    /* masses > 0 */
    double pericentre;   /* nearest distance, > 0 */
    double separation;   /* at the start, >= pericentre */
    double eccentricity; /* 0..1 ellipse, 1 parabola, > 1 hyperbola */
    double angle; /* degrees: direction from 1 to 2 at pericentre, from the x axis */
};

struct sim_orbit {
    double position[2][3], velocity[2][3]; /* mass centre at rest at the origin */
    double time;                           /* from the start to pericentre */
};

/* The approach begins at `separation`, runs counter-clockwise in the plane z = 0.
 * SIM_BAD_ARGUMENT when the orbit never is that wide. */
enum sim_status sim_orbit_encounter(const struct sim_orbit_desc *desc,
                                    struct sim_orbit *out);

#endif
