/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The joints of models/multibody as plug-ins of kind `joint`: what they are called, where they come
 * from, what they read. Their options are a perp_joint_def; models/multibody/joints.c evaluates
 * them. */
#include "models/multibody/model.h"

#define JOINT_PLACES                                                                               \
  PERP_VECTOR(perp_joint_def, anchor_a, "anchor_a", 0, 0, 0, "m",                                  \
              "Joint point p_a, in the frame of body a."),                                         \
      PERP_VECTOR(perp_joint_def, anchor_b, "anchor_b", 0, 0, 0, "m",                              \
                  "Joint point p_b, in the frame of body b.")
#define JOINT_AXIS_A                                                                               \
  PERP_VECTOR(perp_joint_def, axis_a, "axis_a", 0, 0, 0, "",                                       \
              "Axis of the joint in the frame of body a. Required.")
#define JOINT_AXIS_B                                                                               \
  PERP_VECTOR(perp_joint_def, axis_b, "axis_b", 0, 0, 0, "",                                       \
              "Axis of the joint in the frame of body b. Required.")
#define JOINT_CHOICE(f, names, h)                                                                  \
  {                                                                                                \
#f, "", h, PERP_OPT_ENUM,                                                                      \
        offsetof(perp_joint_def, f) +                                                              \
            0 * sizeof(char[sizeof(((perp_joint_def *)0)->f) == sizeof(int) ? 1 : -1]),            \
        0, 0, 0, 0, names, NULL                                                                    \
  }

static const char *const curves[] = { "line",       "circle", "helix", "cycloid",
                                      "polynomial", "spline", NULL };

static const perp_opt points[] = { JOINT_PLACES, PERP_OPTIONS_END };
static const perp_opt one_axis[] = { JOINT_PLACES, JOINT_AXIS_A, PERP_OPTIONS_END };
static const perp_opt two_axes[] = { JOINT_PLACES, JOINT_AXIS_A, JOINT_AXIS_B, PERP_OPTIONS_END };
static const char *const orders[] = { "slide", "hinge", NULL };
static const perp_opt three_axes[] = { JOINT_PLACES, JOINT_AXIS_A, JOINT_AXIS_B,
                                       PERP_VECTOR(perp_joint_def, axis_c, "axis_c", 0, 0, 0, "",
                                                   "Third axis, in the frame of body b. Required."),
                                       PERP_OPTIONS_END };
static const perp_opt in_plane[] = {
  JOINT_PLACES, JOINT_AXIS_A, JOINT_AXIS_B,
  PERP_VECTOR(perp_joint_def, axis_c, "axis_c", 0, 0, 0, "",
              "Direction of the first slide, in the frame of body a. 0: any in the plane."),
  PERP_OPTIONS_END
};
static const perp_opt slot[] = { JOINT_PLACES,
                                 JOINT_AXIS_A,
                                 JOINT_AXIS_B,
                                 { "first", "", "Order of slide and hinge from body a on.",
                                   PERP_OPT_ENUM, offsetof(perp_joint_def, hinge_first), 0, 0, 0, 0,
                                   orders, NULL },
                                 PERP_OPTIONS_END };
static const char *const axis_kinds[] = { "hinge", "slide", NULL };
#define JOINT_OF_CHAIN(i, letter)                                                                  \
  { letter "_kind",                                                                                \
    "",                                                                                            \
    "Axis " letter " of the chain, from body a on.",                                               \
    PERP_OPT_ENUM,                                                                                 \
    offsetof(perp_joint_def, axes[i].slides),                                                      \
    0,                                                                                             \
    0,                                                                                             \
    0,                                                                                             \
    0,                                                                                             \
    axis_kinds,                                                                                    \
    NULL },                                                                                        \
      PERP_VECTOR(perp_joint_def, axes[i].along, letter "_along", 0, 0, 0, "",                     \
                  "Direction of axis " letter " in the initial state, in the frame of body a."),   \
      PERP_VECTOR(perp_joint_def, axes[i].at, letter "_at", 0, 0, 0, "m",                          \
                  "Point of axis " letter                                                          \
                  ", a hinge, in the initial state, in the frame of body a.")
static const perp_opt chain[] = { PERP_INT(perp_joint_def, n_axes, 3, 3, PERP_CHAIN_AXES,
                                           "Number of axes."),
                                  JOINT_OF_CHAIN(0, "a"),
                                  JOINT_OF_CHAIN(1, "b"),
                                  JOINT_OF_CHAIN(2, "c"),
                                  JOINT_OF_CHAIN(3, "d"),
                                  JOINT_OF_CHAIN(4, "e"),
                                  PERP_OPTIONS_END };
static const perp_opt length[] = { JOINT_PLACES,
                                   PERP_REAL(perp_joint_def, length, 0, 0, HUGE_VAL, PERP_OPEN_MAX,
                                             "m",
                                             "Distance between the two joint points. Required."),
                                   PERP_OPTIONS_END };
static const perp_opt track[] = {
  JOINT_PLACES,
  PERP_VECTOR(perp_joint_def, axis_a, "axis_a", 0, 0, 0, "",
              "First axis e_1 of the curve, in the frame of body a. Required."),
  PERP_VECTOR(perp_joint_def, axis_b, "axis_b", 0, 0, 0, "",
              "Second axis e_2 of the curve, in the frame of body a; not used in the plane."),
  JOINT_CHOICE(
      curve.kind, curves,
      "Type of the curve. Models and scene files give the points of a polynomial or spline."),
  PERP_REAL(perp_joint_def, curve.radius, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "m",
            "Radius of the circle, of the helix, or of the circle that rolls for a cycloid."),
  PERP_REAL(perp_joint_def, curve.pitch, 0, -HUGE_VAL, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX, "m",
            "Pitch of the helix per turn."),
  PERP_REAL(perp_joint_def, curve.lower, 0, -HUGE_VAL, HUGE_VAL, 0, "",
            "Lower end of the curve, in the curve parameter."),
  PERP_REAL(perp_joint_def, curve.upper, 0, -HUGE_VAL, HUGE_VAL, 0, "",
            "Upper end of the curve, in the curve parameter. With lower and upper both 0 the curve "
            "has its full domain."),
  PERP_BOOL(perp_joint_def, curve.closed, 0, "Treat the spline as periodic."),
  PERP_OPTIONS_END
};

#define BOTH (PERP_JOINT_IN_SPACE | PERP_JOINT_IN_PLANE)
#define JOINT(id, kind_of, table, bits, what, rows_are, source)                                    \
  JOINT_NAMED(id, #id, kind_of, table, bits, what, rows_are, source)
#define JOINT_NAMED(id, text, kind_of, table, bits, what, rows_are, source)                        \
  extern const perp_joint_desc perp_joint_##id;                                                    \
  const perp_joint_desc perp_joint_##id = {                                                        \
    .d = { .name = text,                                                                           \
           .summary = what,                                                                        \
           .reference = source,                                                                    \
           .equation = rows_are,                                                                   \
           PERP_OPTIONS(table, perp_joint_def),                                                    \
           .caps = (bits) },                                                                       \
    .bodies_min = 2,                                                                               \
    .bodies_max = 2,                                                                               \
    .own = 1 + kind_of,                                                                            \
  }

JOINT(ball, PERP_JOINT_BALL, points, BOTH | PERP_JOINT_AT_CENTRES,
      "Ball joint (a hinge in the plane): one common point; 3 rows, 2 in the plane",
      "p_b - p_a = 0", "Vondrak 2005, eq. 7.3; Cline 2002, eq. 4.1");
JOINT(hinge, PERP_JOINT_HINGE, two_axes, BOTH,
      "Hinge: one common point and one common axis; 5 rows, 2 in the plane",
      "p_b - p_a = 0, t_k . axis_b = 0 for t_1, t_2 of body a across axis_a",
      "Cline 2002, eq. 4.7-4.9");
JOINT(universal, PERP_JOINT_UNIVERSAL, two_axes, PERP_JOINT_IN_SPACE,
      "Universal joint: one common point and two perpendicular axes; 4 rows",
      "p_b - p_a = 0, axis_a . axis_b = 0", "Cline 2002, section 4.4.1");
JOINT(
    slider, PERP_JOINT_SLIDER, one_axis, BOTH | PERP_JOINT_INVARIANT,
    "Slider: motion along one axis, no relative rotation; 5 rows, 2 in the plane",
    "e_i . g_(i+1) = 0 for e_i of a and g_i = e_i of b in the initial state, t_k . (p_b - p_a) = 0",
    "Cline 2002, section 4.4.1");
JOINT(fixed, PERP_JOINT_FIXED, points, BOTH,
      "Rigid connection of two bodies; 6 rows, 3 in the plane",
      "p_b - p_a = 0, e_i . g_(i+1) = 0 for e_i of a and g_i = e_i of b in the initial state",
      "Cline 2002, section 4.4.1");
JOINT(distance, PERP_JOINT_DISTANCE, length, BOTH | PERP_JOINT_INVARIANT | PERP_JOINT_AT_CENTRES,
      "Massless rod between two points; 1 row", "|p_b - p_a| - length = 0",
      "van Overveld & Barenbrug 1995, section 2.4");
JOINT(line, PERP_JOINT_LINE, one_axis, BOTH | PERP_JOINT_INVARIANT,
      "A point of body b moves on a line of body a; 2 rows, 1 in the plane",
      "t_k . (p_b - p_a) = 0", "Cline 2002, section 4.4.1");
JOINT(wheel, PERP_JOINT_WHEEL, two_axes, PERP_JOINT_IN_SPACE | PERP_JOINT_INVARIANT,
      "Wheel of a car: its centre stays on the steering axis, its axle perpendicular to it; 3 rows",
      "t_k . (p_b - p_a) = 0, axis_a . axis_b = 0", "Vondrak 2005, section 6.6");
JOINT(curve, PERP_JOINT_CURVE, track, BOTH | PERP_JOINT_INVARIANT,
      "A point of body b moves on a curve of body a; 2 rows, 1 in the plane",
      "n_k . (p_b - c) = 0, c the point of the curve next to p_b, n_k across it",
      "van Overveld & Barenbrug 1995, section 2.6");
JOINT(planar, PERP_JOINT_PLANAR, in_plane, PERP_JOINT_IN_SPACE | PERP_JOINT_INVARIANT,
      "Motion in a plane of body a and rotation about its normal; 3 rows",
      "axis_a . (p_b - p_a) = 0, t_k . axis_b = 0", "Cline 2002, section 4.4.1");
JOINT(cylindrical, PERP_JOINT_CYLINDRICAL, two_axes, PERP_JOINT_IN_SPACE | PERP_JOINT_INVARIANT,
      "Motion along one axis and rotation about it; 4 rows",
      "t_k . (p_b - p_a) = 0, t_k . axis_b = 0", "Cline 2002, section 4.4.1");
JOINT(rectangular, PERP_JOINT_RECTANGULAR, two_axes, BOTH | PERP_JOINT_INVARIANT,
      "Two slides at any angle, no relative rotation; 4 rows, 1 in the plane",
      "e_i . g_(i+1) = 0 for e_i of a and g_i = e_i of b in the initial state, (axis_a x axis_b) . "
      "(p_b - p_a) = 0",
      "Cline 2002, section 4.4.1");
JOINT(cartesian, PERP_JOINT_CARTESIAN, three_axes, PERP_JOINT_IN_SPACE | PERP_JOINT_INVARIANT,
      "Three slides, no relative rotation; 3 rows",
      "e_i . g_(i+1) = 0 for e_i of a and g_i = e_i of b in the initial state",
      "Cline 2002, section 4.4.1");
JOINT_NAMED(skew_hinges, "skew-hinges", PERP_JOINT_SKEW_HINGES, two_axes,
            PERP_JOINT_IN_SPACE | PERP_JOINT_INVARIANT,
            "Two hinges at any distance and angle, with a massless link between; 4 rows",
            "axis_a . axis_b, axis_a . d, axis_b . d, (axis_a x axis_b) . d as they are in the "
            "initial state, d = p_b - p_a; parallel hinges: t_k . axis_b = 0, axis_a . d, |d|",
            "R. Featherstone, Rigid Body Dynamics Algorithms, 2008, section 4.4");
JOINT_NAMED(pin_slot, "pin-slot", PERP_JOINT_PIN_SLOT, slot,
            PERP_JOINT_IN_SPACE | PERP_JOINT_INVARIANT,
            "A slide and a hinge at any angle, in either order; 4 rows",
            "t_k . h = 0 for the hinge h and t_k across it in the other body, n_k . (p_b - p_a) = "
            "0 for n_k across the slide",
            "R. Featherstone, Rigid Body Dynamics Algorithms, 2008, section 4.4");
JOINT(chain, PERP_JOINT_CHAIN, chain, PERP_JOINT_IN_SPACE | PERP_JOINT_INVARIANT,
      "Three to five slides and hinges in any order, with massless links between; 6 rows less one "
      "for each axis",
      "B' (x - x(q), size skew(R R(q)')) = 0, q: A' of it is 0; A the axes, B across them, T(q) = "
      "exp(S_1 q_1) ... exp(S_n q_n) T(0)",
      "R. M. Murray, Z. Li, S. S. Sastry, A Mathematical Introduction to Robotic Manipulation, "
      "1994, section 3.2");
