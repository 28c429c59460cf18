/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The forces of models/multibody as plug-ins of kind `force`: what they are called, where they come
 * from, what they read. Their options are a perp_force_def; forces.c and force_pairs.c there
 * evaluate them. */
#include "models/multibody/model.h"

#include <limits.h>

#define FORCE_REAL(f, u, h) PERP_REAL(perp_force_def, f, 0, 0, HUGE_VAL, PERP_OPEN_MAX, u, h)
#define FORCE_CHOICE(f, names, h)                                                                  \
  {                                                                                                \
#f, "", h, PERP_OPT_ENUM,                                                                      \
        offsetof(perp_force_def, f) +                                                              \
            0 * sizeof(char[sizeof(((perp_force_def *)0)->f) == sizeof(int) ? 1 : -1]),            \
        0, 0, 0, 0, names, NULL                                                                    \
  }

static const char *const laws[] = { "gravity", "lennard-jones", "repulsion", NULL };

static const perp_opt point[] = {
  PERP_VECTOR(perp_force_def, anchor_a, "anchor_a", 0, 0, 0, "m",
              "Point of application, in the frame of the body."),
  PERP_VECTOR(perp_force_def, value, "value", 0, 0, 0, "N",
              "Force, in the world frame. In scene files it may be a signal."),
  PERP_OPTIONS_END
};
static const perp_opt torque[] = {
  PERP_VECTOR(perp_force_def, value, "value", 0, 0, 0, "Nm",
              "Torque, in the world frame. In scene files it may be a signal."),
  PERP_OPTIONS_END
};
static const perp_opt spring[] = {
  PERP_VECTOR(perp_force_def, anchor_a, "anchor_a", 0, 0, 0, "m",
              "Attachment point p_a of the spring, in the frame of body a."),
  PERP_VECTOR(perp_force_def, anchor_b, "anchor_b", 0, 0, 0, "m",
              "Attachment point p_b of the spring, in the frame of body b."),
  FORCE_REAL(stiffness, "N/m", "Stiffness of the spring."),
  FORCE_REAL(damping, "Ns/m", "Damping of the spring, against the rate of change of its length."),
  FORCE_REAL(length, "m", "Length of the spring at zero tension."),
  PERP_OPTIONS_END
};
static const perp_opt drag[] = {
  FORCE_REAL(linear, "Ns/m", "Linear drag coefficient: drag force per speed."),
  FORCE_REAL(quadratic, "kg/m", "Quadratic drag coefficient: drag force per squared speed."),
  FORCE_REAL(angular, "Nms/rad", "Rotational drag coefficient: drag torque per angular speed."),
  PERP_OPTIONS_END
};
static const perp_opt pairs[] = {
  FORCE_CHOICE(law, laws,
               "Potential V(r): gravity -k m_i m_j / r; lennard-jones 4 k ((s/r)^12 - (s/r)^6); "
               "repulsion k s exp(-r/s)."),
  PERP_REAL(perp_force_def, strength, 0, -HUGE_VAL, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX, "",
            "Strength k of the potential, in the SI unit that the law requires."),
  FORCE_REAL(length, "m", "Length s of the potential; not used by gravity."),
  FORCE_REAL(cutoff, "m", "Distance beyond which the force is zero. 0: no cutoff."),
  PERP_OPTIONS_END
};

#define BOTH (PERP_FORCE_IN_SPACE | PERP_FORCE_IN_PLANE)
#define FORCE(id, kind_of, least, most, bits, what, is, source)                                    \
  extern const perp_force_desc perp_force_##id;                                                    \
  const perp_force_desc perp_force_##id = {                                                        \
    .d = { .name = #id,                                                                            \
           .summary = what,                                                                        \
           .reference = source,                                                                    \
           .equation = is,                                                                         \
           PERP_OPTIONS(id, perp_force_def),                                                       \
           .caps = BOTH | (bits) },                                                                \
    .bodies_min = least,                                                                           \
    .bodies_max = most,                                                                            \
    .own = 1 + kind_of,                                                                            \
  }

FORCE(point, PERP_FORCE_POINT, 1, 1, 0, "Force fixed in the world, at a point of a body",
      "f = (F, s x R'F)", "Vondrak 2005, eq. 5.7-5.9");
FORCE(torque, PERP_FORCE_TORQUE, 1, 1, 0, "Torque fixed in the world, on a body", "f = (0, R' tau)",
      "Vondrak 2005, eq. 5.7-5.9");
FORCE(spring, PERP_FORCE_SPRING, 2, 2, PERP_FORCE_INTERNAL | PERP_FORCE_CONSERVATIVE,
      "Spring and damper between points of two bodies; conserves energy without damping",
      "tension = stiffness (|d| - length) + damping d|d|/dt, d = p_b - p_a", "Hooke's law");
FORCE(drag, PERP_FORCE_DRAG, 1, 1, PERP_FORCE_NEEDS_VELOCITY, "Drag of a medium at rest",
      "f = (-linear v - quadratic |v| v, -angular w)", "Vondrak 2005, section 3.3");
FORCE(pairs, PERP_FORCE_PAIRS, 2, INT_MAX,
      PERP_FORCE_INTERNAL | PERP_FORCE_CONSERVATIVE | PERP_FORCE_AT_CENTRES,
      "Interaction of each pair of bodies a ... b: gravity, Lennard-Jones or soft repulsion",
      "F_i = -V'(r) n = -F_j, n the direction from j to i", "Vondrak 2005, section 3.3");
