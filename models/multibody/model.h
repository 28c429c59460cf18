/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rigid-body models: bodies, joints, forces, and everything a formulation asks of them.
 *
 * One code serves space (dim = 3) and the plane (dim = 2), as Cline 2002, section 4.2 asks.  Per
 * body:
 *
 *      space  q = (x, y, z, qw, qx, qy, qz)   v = (xdot, ydot, zdot, wx, wy, wz)   nqb = 7, nvb = 6
 *
 *      plane  q = (x, y, angle)               v = (xdot, ydot, angledot)           nqb = nvb = 3
 *
 * x is the centre of mass in the world frame, the quaternion turns body vectors into world
 * vectors (v_world = R(q) v_body), and **the angular velocity is in the body frame**: the mass
 * matrix M_b = diag(m, m, m, I_body) is then constant, and the implicit midpoint rule keeps
 * energy and |L|. Gravity points along -z in space and -y in the plane.  SI units.
 *
 * The generalized force f contains gravity, all force elements and the gyroscopic term
 * -omega x (I omega), so that M a = f + J' lambda.
 *
 * A finished model is constant but for the blocks of perp_model_assemble and scratch memory
 * behind the questions that need poses: one thread at a time may ask; simulations have
 * evaluations of their own and may share a model between threads.
 *
 * Newton's and Euler's equations: Vondrak 2005, eq. 3.2, 3.3, 3.5, 5.20, 5.21, 5.23 and 6.6; STAR
 * 2012, eq. 7, 8 and 13-16; Cline 2002, eq. 2.11, 2.16 and 2.29. */
#ifndef PERP_MODEL_H
#define PERP_MODEL_H

#include "models/multibody/force.h"
#include "models/multibody/joint.h"
#include "models/geometry/shape.h"
#include "models/multibody/signal.h"
#include "solvers/linalg/blocks.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct perp_model perp_model;

enum { PERP_WORLD = -1 }; /* body index of the fixed frame */

/* ---- building ---- */

/* A signal of the model (perp_model_add_signal), from 1 on; 0: none.  Where a number of a
 * definition has one beside it, the value at the time t is number + signal(t).  */
typedef int perp_signal_ref;

typedef struct perp_mass { /* mass properties about the centre of mass, in the body frame */
  double mass;
  double inertia[9]; /* 3 x 3 column-major; the plane uses inertia[8] (about z) only */
} perp_mass;
/* Solids of uniform density with total mass m, axis along z where there is one. */
perp_mass perp_mass_box(double m, double a, double b, double c); /* full edge lengths */
perp_mass perp_mass_sphere(double m, double r);
perp_mass perp_mass_cylinder(double m, double r, double length);
perp_mass perp_mass_capsule(double m, double r, double length); /* length of the cylindrical part */
/* Closed polyhedron of uniform density [kg/m^3]: vertices [3 n_vertices] m, triangles [3
 * n_triangles] (vertex indices, counter-clockwise from outside); integrals over tetrahedra, so that
 * it need not be convex.  centroid [3] out: where the centre of mass is in the vertices' frame.
 * PERP_ERR_ARG: density, indices or numbers that make no sense, a surface that is not closed, no
 * volume; *mass and centroid are then undefined.  Allocates; O(triangles log triangles). */
perp_status perp_mass_polytope(perp_ctx *ctx, double density, const double *vertices,
                               int n_vertices, const int *triangles, int n_triangles,
                               perp_mass *mass, double centroid[3]);

/* The same of the convex hull of vertices [3 n_vertices], without triangles. */
perp_status perp_mass_hull(perp_ctx *ctx, double density, const double *vertices, int n_vertices,
                           perp_mass *mass, double centroid[3]);
/* Area, centroid and second moment about the centroid (int r^2 dA) of a simple polygon with corners
 * [2 n], counter-clockwise. */
void perp_polygon_moments(int n, const double *corners, double *area, double centroid[2],
                          double *polar);

typedef struct perp_body_def {
  const char *name; /* may be NULL */
  perp_mass mass;
  double x[3], quat[4], angle; /* quat (w, x, y, z); all zero means identity; angle in the plane */
  double v[3], w[3];           /* w in the body frame; the plane uses w[2] */
  /* A mass point (Vondrak 2005, chapter 3): it never turns, so that mass.mass is all the mass
   * properties it has.  Its coordinates are those of a body with quat = identity, angle = 0 and
   * w = 0, which stay so: forces and joints act at its centre only. */
  bool particle;
} perp_body_def;

/* The rows of a joint, C = 0, in this order; p_a, p_b the anchors in the world, n = R u
 * directions fixed in the bodies, t_1, t_2 unit vectors fixed in a and perpendicular to axis_a
 * and to each other:
 *      p_b - p_a               ball, hinge, universal, fixed; lambda is the force on body b
 *      e_i . g_i+1             slider, fixed: e_i of a, g_i of b equal to e_i in the initial state,
 *                              so that the relative orientation stays as it is there
 *      t_k . (p_b - p_a)       slider, line, wheel, cylindrical
 *      t_k . axis_b            hinge, planar, cylindrical
 *      axis_a . (p_b - p_a)    planar
 *      axis_a . axis_b         universal, wheel
 *      |p_b - p_a| - length    distance
 *      (axis_a x axis_b) . (p_b - p_a)      rectangular
 *      axis_a . axis_b, axis_a . d, axis_b . d, (axis_a x axis_b) . d, d = p_b - p_a, all less what
 *                              they are in the initial state: skew-hinges
 *      components of the pose of b across the axes, in m: chain (models/multibody/chain.c); with
 *                              three slides, or two and a hinge, rows as of the kinds above
 *      n_k . (p_b - c)         curve: c the point of the curve next to p_b, n_k perpendicular to it
 * J is the exact derivative of C for the velocities above, everywhere. */
typedef enum perp_joint_kind {
  PERP_JOINT_BALL,      /* p_a = p_b: 3 rows (2 in the plane, where it is the hinge) */
  PERP_JOINT_HINGE,     /* ball + axis_a parallel to axis_b: 5 rows (2 in the plane) */
  PERP_JOINT_UNIVERSAL, /* ball + axis_a perpendicular to axis_b: 4 rows; space only */
  PERP_JOINT_SLIDER,    /* no relative turning, motion along axis_a only: 5 rows (2 in the plane) */
  PERP_JOINT_FIXED,     /* no relative motion: 6 rows (3 in the plane) */
  PERP_JOINT_DISTANCE,  /* |p_a - p_b| = length: 1 row */
  PERP_JOINT_LINE,      /* p_b on the line through p_a along axis_a: 2 rows (1 in the plane) */
  PERP_JOINT_WHEEL, /* car wheel: p_b on the steering axis axis_a, along which it is sprung, and the
                     * axle axis_b perpendicular to it: 3 rows; space only */
  PERP_JOINT_CURVE, /* p_b on a curve fixed in a: 2 rows (1 in the plane) */
  PERP_JOINT_PLANAR, /* p_b in the plane through p_a across axis_a, axis_a parallel to axis_b: 3
                        rows; space only */
  PERP_JOINT_CYLINDRICAL, /* p_b on the line through p_a along axis_a, axis_a parallel to axis_b: 4
                             rows; space only */
  /* two slides, along axis_a fixed in a and axis_b fixed in b, at any angle but 0: no relative
   * turning, no motion along axis_a x axis_b: 4 rows (1 in the plane) */
  PERP_JOINT_RECTANGULAR,
  /* three slides, axis_c fixed in b: no relative turning: 3 rows; space only */
  PERP_JOINT_CARTESIAN,
  /* two hinges, of the line through p_a along axis_a and that through p_b along axis_b, at any
   * angle and distance, also parallel or intersecting, as they are in the initial state: 4 rows;
   * space only */
  PERP_JOINT_SKEW_HINGES,
  /* a slide along axis_a, then a hinge through p_b about axis_b, at any angle; with hinge_first a
   * hinge through p_a about axis_a, then a slide along axis_b, which is fixed in b: 4 rows; space
   * only */
  PERP_JOINT_PIN_SLOT,
  /* three to five slides and hinges in any order, with massless links between, as they are in the
   * initial state: 6 rows less one for each axis; space only */
  PERP_JOINT_CHAIN,
  PERP_JOINT_PLUGIN /* of kind `joint` (joint.h), between one body or more */
} perp_joint_kind;

/* Curves c(s) (van Overveld & Barenbrug 1995, section 2.6) in a frame of body a: origin anchor_a,
 * e_1 along axis_a, e_2 along what of axis_b is perpendicular to it, e_3 = e_1 x e_2; in the plane
 * e_2 is e_1 turned to the left, and axis_b is not read. */
typedef enum perp_curve_kind {
  PERP_CURVE_LINE,       /* (s, 0, 0) */
  PERP_CURVE_CIRCLE,     /* radius (cos s, sin s, 0) */
  PERP_CURVE_HELIX,      /* (radius cos s, radius sin s, pitch s / 2 pi); space only */
  PERP_CURVE_CYCLOID,    /* radius (s + sin s, 1 - cos s, 0), -pi < s < pi */
  PERP_CURVE_POLYNOMIAL, /* sum data_k s^k, k = 0 ... n-1 */
  PERP_CURVE_SPLINE /* cubic spline through data_k at s = k, k = 0 ... n-1: natural, or closed and
                       periodic */
} perp_curve_kind;

/* The point may slide as long as lower <= s <= upper; where it passes an end it leaves the curve:
 * the simulation releases the joint at that time and reports it (perp_release in formulation.h).
 * Both 0: the largest domain of the kind (required for polynomials).  s of the foot is the closest
 * one, so that a curve must keep away from itself. */
typedef struct perp_curve_def {
  perp_curve_kind kind;
  double radius, pitch; /* m; m per turn */
  double lower, upper;
  int n;
  const double *data; /* [n][3] m; copied */
  bool closed;
} perp_curve_def;

/* What the initial state says about the joint (Cline 2002, section 4.4.1). */
typedef enum perp_joint_start {
  PERP_START_HOLDS, /* it must satisfy the joint: else the model is refused */
  PERP_START_ZERO,  /* it defines the zero: anchors, axes or length of the joint are moved to fit it
                     */
  PERP_START_VIOLATES /* it may violate the joint, and stabilization brings it back */
} perp_joint_start;

/* How a row gives way (Vondrak 2005, section 6.6; Servin 2011).  softness is the S of kkt.h, of
 * either level.  With stiffness or damping the row is a spring and damper, lambda = -stiffness C -
 * damping Cdot with C and Cdot of the end of the step to first order, C + h Cdot+ and Cdot+:
 * exactly a row with
 *
 *      S = 1 / (h (h stiffness + damping)),   alpha = stiffness / (h stiffness + damping)
 *
 *      J v+ + S p = -alpha C
 *
 * for the impulse p = h lambda on the velocity level, and the same S for the force lambda on the
 * acceleration level, J a + S lambda = -Jdot v - S (stiffness C + (h stiffness + damping) Cdot).
 * The other way round, stiffness = alpha / (h S) and damping = (1 - h alpha) / (h S).  Stable for
 * any h; no stabilization acts on such a row, C of it is no error, and it may be off in the initial
 * state. */
typedef struct perp_row_soft {
  double softness, stiffness, damping;
} perp_row_soft;
enum { PERP_JOINT_ROWS = 6 }; /* of a joint at most */

/* An axis of a chain as it is in the initial state, in the frame of body a. */
enum { PERP_CHAIN_AXES = 5 };
typedef struct perp_chain_axis {
  int slides;      /* 0: a hinge */
  double along[3]; /* of any length but zero */
  double at[3];    /* m, a point of the line of a hinge */
} perp_chain_axis;

typedef struct perp_joint_def {
  const char *name;
  perp_joint_kind kind;
  int a, b;                        /* bodies; one may be PERP_WORLD */
  double anchor_a[3], anchor_b[3]; /* in the body frame (in the world frame for PERP_WORLD) */
  double axis_a[3], axis_b[3];     /* likewise; any length but zero */
  double axis_c[3]; /* cartesian: the third slide, in the frame of b; planar: the first slide, in
                       that of a, 0: any */
  int hinge_first;  /* pin-slot */
  int n_axes;       /* chain; its anchors and axis_a follow from these */
  perp_chain_axis axes[PERP_CHAIN_AXES]; /* [n_axes] from body a on */
  double length;                         /* distance joint */
  double softness;                       /* S of its rows on either level, see kkt.h; 0 = rigid */
  double stiffness, damping;             /* of all its rows; 0 and 0 = no spring */
  perp_row_soft row[PERP_JOINT_ROWS];    /* of single rows, in addition */
  bool collide;                          /* its bodies may touch each other */
  double strength; /* N, force above which it breaks, and holds no more; 0: it does not break */
  perp_curve_def curve;
  perp_joint_start start;
  /* Of a plug-in, whose a and b are its first bodies (b the world where there is one): see
   * perp_joint_define.  Copied. */
  const perp_joint_desc *plugin;
  const void *opts; /* NULL: all defaults */
  int n_bodies;
  const int *body; /* [n_bodies] */
} perp_joint_def;

typedef enum perp_force_kind {
  PERP_FORCE_POINT,  /* force `value` (world) at anchor_a of body a */
  PERP_FORCE_TORQUE, /* torque `value` (world) on body a */
  PERP_FORCE_SPRING, /* tension stiffness (|d| - length) + damping d|d|/dt, d = p_b - p_a */
  PERP_FORCE_DRAG,   /* -linear xdot - quadratic |xdot| xdot, and -angular w on body a */
  PERP_FORCE_PAIRS,  /* spatial interaction: between each two of the bodies a ... b, see perp_law */
  PERP_FORCE_PLUGIN  /* of kind `force` (force.h), on one body or more */
} perp_force_kind;

/* Potential V(r) of two bodies whose centres are r apart, k = strength, s = length; the force is
 * along the line between them.  cutoff > 0: no force beyond, and V is replaced by V(r) - V(cutoff)
 * - (r - cutoff) V'(cutoff) below, so that force and energy are continuous; neighbours are then
 * found by a grid of cells, O(n), instead of O(n^2). */
typedef enum perp_law {
  PERP_LAW_GRAVITY,       /* -k m_i m_j / r */
  PERP_LAW_LENNARD_JONES, /* 4 k ((s/r)^12 - (s/r)^6) */
  PERP_LAW_REPULSION      /* k s exp(-r/s), soft */
} perp_law;

typedef struct perp_force_def {
  perp_force_kind kind;
  int a, b;
  double anchor_a[3], anchor_b[3];
  double value[3];
  perp_signal_ref value_signal[3];
  double stiffness, damping, length;
  double linear, quadratic, angular;
  perp_law law;
  double strength, cutoff;
  /* Of a plug-in, as of joints: see perp_force_define.  Copied. */
  const perp_force_desc *plugin;
  const void *opts;
  int n_bodies;
  const int *body;
} perp_force_def;

/* The coordinate of a drive: rad or m of b relative to a.
 *
 * A ball joint in space that is given axis_a and axis_b has three angles, those of three hinges in
 * one point: b is turned about axis_a, which is fixed in a, then about the node axis_a x axis_b,
 * then about axis_b, which is fixed in b.  They are undefined where both axes are parallel, and
 * jump there. */
typedef enum perp_drive_axis {
  PERP_DRIVE_A,      /* turning about axis_a: hinge, universal, wheel (steering), ball, planar,
                      * cylindrical; slider     and line: motion along it */
  PERP_DRIVE_B,      /* turning about axis_b: universal, wheel (spin of the axle), ball in space */
  PERP_DRIVE_ALONG,  /* motion along axis_a: slider, line, wheel (the strut), cylindrical */
  PERP_DRIVE_NODE,   /* turning about axis_a x axis_b, from axis_a to axis_b: ball in space */
  PERP_DRIVE_C,      /* motion along axis_c: cartesian; of a chain A to E are its axes in turn */
  PERP_DRIVE_ACROSS, /* motion along axis_a x axis_c: planar, whose ALONG is that along axis_c */
  PERP_DRIVE_D,      /* chain */
  PERP_DRIVE_E,      /* chain */
  PERP_DRIVE_TURN    /* turning about `along`, to the orientation of `turning`: ball, hinge */
} perp_drive_axis;

/* An orientation that moves: q [4] the quaternion of b against a at t (vectors of b to those of a;
 * in the plane about z), w [3] its angular velocity in the frame of b.  The same numbers for the
 * same t. */
typedef struct perp_turning {
  void (*at)(const void *user, double t, double q[4], double w[3]);
  const void *user;
} perp_turning;

/* A drive acts along one coordinate x that its joint leaves free; a joint may have several.  x is
 * `zero` in the initial state, so that a joint can start inside or beyond its limits.  A simulation
 * follows angles from step to step over any number of turns; a step must turn a joint by less than
 * half a turn.  All parts may be present:
 *
 *      limits   lower <= x <= upper; a stop reached faster than 1e-3 / s rebounds by `restitution`
 *      motor    xdot = velocity as far as a force of at most max_force does it
 *               (max_force = infinity: kinematic); velocity = 0 is dry friction of the joint
 *               (STAR 2012, eq. 49)
 *      servo    stiffness or damping > 0: the motor is the spring and damper -stiffness (x -
 *               target) - damping (xdot - velocity), not more than max_force: on the velocity level
 *               that of the end of the step (stable for any h), on the acceleration level a force
 *
 * PERP_DRIVE_TURN: x is the part along `along` of the rotation vector from a to b.  It is a servo
 * whose x - target is that of what is left to turn, -along . log(R_ab' R(t)), and whose velocity is
 * that of R(t), seen from b: no angles of Euler, no place where they jump.  There are no limits,
 * and target and velocity are not read. */
typedef struct perp_drive_def {
  const char *name; /* may be NULL */
  int joint;
  perp_drive_axis axis;
  double zero;
  double lower, upper; /* -infinity and infinity: no limit */
  double restitution;
  double velocity, max_force; /* max_force = 0: no motor */
  double target, stiffness, damping;
  perp_signal_ref velocity_signal, target_signal; /* on the velocity level at the end of the step */
  /* of PERP_DRIVE_TURN: R(t), which must live as long as the model (perp_model_keep), and a unit
   * vector in the frame of b */
  const perp_turning *turning;
  double along[3];
  /* A further force along x carries the weight of the bodies that the joint alone connects with the
   * world: inverse dynamics at rest.  With max_force > 0 it is at most that.  Hinges, sliders,
   * cylindrical, universal and ball joints that close no loop. */
  bool gravity_compensation;
} perp_drive_def;

/* The prescribed motion of a body: rheonomic constraints C(q, t) = 0,
 *
 *      x_body - x(t) = 0
 *
 *      orientation = (turn about `axis` by angle(t) - angle(0)) (initial orientation)
 *
 * as the rows of a fixed joint, or with free_turn of a ball joint, between a frame that moves and
 * the body.  On the velocity level J v = -C_t, on the acceleration level J a = -Jdot v - C_tt;
 * error, rate and feedback are those of C at the time at hand.  The rows follow those of all
 * joints, in the order of the motions. */
typedef struct perp_motion_def {
  const char *name; /* may be NULL */
  int body;
  double x[3]; /* m, of the centre of mass */
  perp_signal_ref x_signal[3];
  bool free_turn; /* its orientation is not prescribed; particles need it */
  double
      axis[3];  /* in the world, of any length; the plane does not read it; needed with an angle */
  double angle; /* rad */
  perp_signal_ref angle_signal;
  /* The initial velocities of the body become those of the motion at t = 0; else they must agree
   * with it, as its initial place must. */
  bool sets_velocity;
} perp_motion_def;

/* When something begins or ends. */
typedef enum perp_cue_kind {
  PERP_CUE_TIME,       /* at `time`; infinite: never */
  PERP_CUE_COORDINATE, /* when a coordinate or rate of a body passes a value */
  PERP_CUE_CONTACT /* when a contact of its own with a body that is enabled transmits an impulse */
} perp_cue_kind;
typedef struct perp_cue {
  perp_cue_kind kind;
  double time;          /* s */
  int body, coordinate; /* its place among the q of the body, and behind them its v */
  double value;
  int direction; /* 1 rises, -1 falls, 0 both */
} perp_cue;

/* A body that is disabled for a time (Vondrak 2005, section 7.1): forces and impulses do not move
 * it, and for others it is a part of the world, until it is enabled.
 *
 *      x = x(t_from),  R = R(t_from),  v = 0      from t_from to t_until
 *
 * as rows of a fixed joint to the world (of a particle a ball joint), after those of all joints, in
 * the order of these definitions.  While it is disabled, joints between such bodies and the world
 * have no rows, and contacts between them are not looked for.  A body that is disabled in motion
 * stops at once: velocities of bodies joined to it become those of a plastic impact, M (v+ - v) =
 * J' p, J v+ = 0.  PERP_CUE_CONTACT is for `until`: the step in which the contact first acts is
 * made again from its start with the body enabled, so that the contact moves it. */
typedef struct perp_disabled_def {
  int body;
  perp_cue from, until; /* from a time of 0: from the start */
} perp_disabled_def;

/* Parts of the model that stop for good where a condition is met, as a controller lets go whose
 * error has grown (Vondrak 2005, section 8.3): forces, the motors and servos of drives, whose
 * limits stay, and joints, `n` of each from `first` on.  The step ends where `beyond`, which is
 * continuous, becomes 0; it is stopped where that is above 0.  The same number for the same
 * state. */
typedef struct perp_stop_range {
  int first, n;
} perp_stop_range;
typedef struct perp_stop_def {
  double (*beyond)(const void *user, double t, const double *q);
  const void *user; /* must live as long as the model (perp_model_keep) */
  perp_stop_range forces, drives, joints;
} perp_stop_def;

/* A row on velocities that is no derivative of a row on positions (Neimark and Fufaev, Dynamics of
 * Nonholonomic Systems, chapter I),
 *
 *      sum over terms of (along . pdot + about . omega) = value + signal(t)    [m/s]
 *
 * with the velocity pdot of the point `at` of a body, its angular velocity omega in the world, and
 * directions fixed in the body `frame` or in the world: a blade that does not slip aside, wheels
 * that roll, gears whose speeds are tied.  Their lengths are the factors.  In the plane about[2] is
 * read.  It is a joint, `nonholonomic`, with one row: C of it is 0, no stabilization of positions
 * acts on it. */
enum { PERP_RATE_TERMS = 8 };
typedef struct perp_rate_term {
  int body, frame;           /* frame: PERP_WORLD, or any body */
  double at[3];              /* m, in the frame of the body */
  double along[3], about[3]; /* about: m, an arm */
} perp_rate_term;
typedef struct perp_rate_def {
  const char *name; /* may be NULL */
  int n_terms;
  perp_rate_term term[PERP_RATE_TERMS];
  double value; /* m/s */
  perp_signal_ref value_signal;
} perp_rate_def;

/* Coordinates of joint axes in a fixed linear relation: gears, belts, screws, racks, differentials,
 * mimics,
 *
 *      C = sum factor_k x_k - value = 0      [rad or m]
 *
 * x_k is the coordinate of an axis as of a drive (perp_drive_axis): `zero` in the initial state,
 * and an angle counts turns, as long as a step turns it by less than half a turn.  It is a joint
 * with one row, between all bodies of the joints of its terms; it is exact wherever those hold. */
enum { PERP_AXIS_TERMS = 8 };
typedef struct perp_axis_term {
  int joint;            /* of model.h, no plug-in */
  perp_drive_axis axis; /* not PERP_DRIVE_TURN */
  double factor, zero;
  bool slides; /* set by the model: a length */
} perp_axis_term;
typedef struct perp_coupling_def {
  const char *name; /* may be NULL */
  int n_terms;
  perp_axis_term term[PERP_AXIS_TERMS]; /* no axis twice */
  double value;
  perp_joint_start start; /* PERP_START_ZERO: value becomes that of the initial state */
} perp_coupling_def;

/* Inertia on a joint axis, which turns or slides with its coordinate alone: of a rotor behind a
 * gear of ratio n, I n^2.  Kinetic energy inertia xdot^2 / 2; no weight, no momentum.  It is a
 * joint with one row that gives way,
 *
 *      J a + lambda / inertia = -Jdot v,      J v = xdot,
 *
 * on the velocity level J v+ + p / inertia = J v - h Jdot v; joint coordinates have it on the
 * diagonal of their inertia matrix. */
typedef struct perp_armature_def {
  const char *name; /* may be NULL */
  int joint;
  perp_drive_axis axis; /* not PERP_DRIVE_TURN */
  double inertia;       /* kg m^2, of a sliding axis kg; > 0 */
} perp_armature_def;

/* An empty model of dimension 2 or 3.  PERP_ERR_DIM, PERP_ERR_NOMEM: *out is NULL. */
perp_status perp_model_create(perp_ctx *ctx, int dim, perp_model **out);
void perp_model_destroy(perp_model *model); /* NULL is fine */
/* What parts of the model point to: destroy(what) is called when the model has been destroyed, the
 * last one first. PERP_ERR_NOMEM: what stays with the caller. */
perp_status perp_model_keep(perp_ctx *ctx, perp_model *model, void *what,
                            void (*destroy)(void *what));
void perp_model_gravity(perp_model *model, double g); /* default 9.81, along -z (-y in the plane) */
/* *signal out: its number in this model.  The model owns it: def->user is destroyed with it, from a
 * PERP_OK on. PERP_ERR_ARG, PERP_ERR_NOMEM: as of perp_signal_create; the model is as it was. */
perp_status perp_model_add_signal(perp_ctx *ctx, perp_model *model, const perp_signal_def *def,
                                  perp_signal_ref *signal);
/* Gravity is g + signal(t).  PERP_ERR_ARG: there is no such signal. */
perp_status perp_model_gravity_signal(perp_ctx *ctx, perp_model *model, perp_signal_ref signal);
/* How two coefficients of friction become that of a pair: sqrt(a b), max(a, b), min(a, b) or (a +
 * b) / 2. */
typedef enum perp_friction_rule {
  PERP_FRICTION_GEOMETRIC,
  PERP_FRICTION_MAXIMUM,
  PERP_FRICTION_MINIMUM,
  PERP_FRICTION_MEAN
} perp_friction_rule;
/* For all pairs that have none of their own; the first one where nothing is said. */
perp_status perp_model_friction(perp_ctx *ctx, perp_model *model, perp_friction_rule rule);
/* What materials a and b >= 1 (perp_surface.material) have with each other: surface->mu, mu_dynamic
 * and restitution; NaN: as their surfaces say, for mu_dynamic with a mu: the same as mu.
 * surface->material is not read.  PERP_ERR_ARG: numbers out of range, mu_dynamic without mu, a pair
 * that is there already; PERP_ERR_NOMEM.  O(pairs). */
perp_status perp_model_add_pair(perp_ctx *ctx, perp_model *model, int a, int b,
                                const perp_surface *surface);
/* Shapes of bodies a and b (one may be PERP_WORLD) never touch each other, whatever their groups
 * and joints say.  depth: m of the overlap as drawn that is the reason, 0: another one.  Also of a
 * finished model that no simulation has been made of yet; a pair that is there stays as it is.
 * PERP_ERR_ARG: bodies that do not exist, a body and itself; PERP_ERR_NOMEM.  O(pairs). */
perp_status perp_model_add_no_contact(perp_ctx *ctx, perp_model *model, int a, int b, double depth);
/* The definition of a joint for perp_model_add_joint, plug-in or not: rigid, and it holds in the
 * initial state; what all joints have (name, softness, start, ...) can be set in it after that.
 * body [n] and opts (of desc->d, NULL: all defaults) must live until it has been added.
 * PERP_ERR_ARG: a number of bodies that it does not take.  No allocation. */
perp_status perp_joint_define(perp_ctx *ctx, const perp_joint_desc *desc, const void *opts, int n,
                              const int *body, perp_joint_def *def);
/* "ball", or the name of the plug-in; NULL where there is no such kind. */
const char *perp_joint_name(const perp_joint_def *def);
/* The definition of a force for perp_model_add_force, plug-in or not; body [n] and opts (of
 * desc->d, NULL: all defaults) must live until it has been added.  PERP_ERR_ARG: a number of bodies
 * that it does not take, for `pairs` bodies that do not follow each other.  No allocation. */
perp_status perp_force_define(perp_ctx *ctx, const perp_force_desc *desc, const void *opts, int n,
                              const int *body, perp_force_def *def);
/* "spring", or the name of the plug-in; NULL where there is no such kind. */
const char *perp_force_name(const perp_force_def *def);
/* The capabilities of a force with its options. */
unsigned perp_force_promises(const perp_force_def *def);
const char *perp_joint_kind_name(perp_joint_kind kind); /* NULL when there is no such kind */
/* Each checks its definition (finite, positive mass, inertia symmetric, positive definite and
 * obeying the triangle inequality, bodies that exist, axes not zero) and names the culprit in one
 * line: PERP_ERR_ARG, PERP_ERR_UNSUPPORTED (not in this dimension, not with a particle),
 * PERP_ERR_NOMEM; the model is then as it was.  Definitions and names are copied; quaternions are
 * normalized.  index may be NULL. */
perp_status perp_model_add_body(perp_ctx *ctx, perp_model *model, const perp_body_def *def,
                                int *index);
perp_status perp_model_add_joint(perp_ctx *ctx, perp_model *model, const perp_joint_def *def,
                                 int *index);
perp_status perp_model_add_force(perp_ctx *ctx, perp_model *model, const perp_force_def *def);
/* The joint must exist already.  PERP_ERR_ARG: limits that contradict each other, numbers that are
 * not finite or negative; PERP_ERR_UNSUPPORTED: a joint that does not leave this coordinate
 * free. */
perp_status perp_model_add_drive(perp_ctx *ctx, perp_model *model, const perp_drive_def *def,
                                 int *index);
/* PERP_ERR_ARG: a body that has a motion already, an angle without an axis, a signal that does not
 * exist or is a table (its rate jumps); PERP_ERR_UNSUPPORTED: a particle that is to turn. */
perp_status perp_model_add_motion(perp_ctx *ctx, perp_model *model, const perp_motion_def *def,
                                  int *index);
/* PERP_ERR_ARG: a body that does not exist, that is a definition's already or has a motion, times
 * that do not follow each other, coordinates that do not exist, a contact as `from`. */
perp_status perp_model_add_disabled(perp_ctx *ctx, perp_model *model, const perp_disabled_def *def,
                                    int *index);
/* PERP_ERR_ARG: parts that do not exist. */
perp_status perp_model_add_stop(perp_ctx *ctx, perp_model *model, const perp_stop_def *def);
/* *index: its number among joints.  PERP_ERR_ARG: no term, or more than PERP_RATE_TERMS, bodies
 * that do not exist, numbers that are not finite, a term without a direction, a signal that does
 * not exist or is a table (its rate jumps); PERP_ERR_UNSUPPORTED: a particle. */
perp_status perp_model_add_rate(perp_ctx *ctx, perp_model *model, const perp_rate_def *def,
                                int *index);
/* *index: its number among joints.  The joints of the terms must exist already.  PERP_ERR_ARG: no
 * term, or more than PERP_AXIS_TERMS, joints that do not exist, an axis twice, a factor of 0,
 * numbers that are not finite; PERP_ERR_UNSUPPORTED: a joint that does not leave this coordinate
 * free. */
perp_status perp_model_add_coupling(perp_ctx *ctx, perp_model *model, const perp_coupling_def *def,
                                    int *index);
/* The same; PERP_ERR_ARG: an inertia that is not positive. */
perp_status perp_model_add_armature(perp_ctx *ctx, perp_model *model, const perp_armature_def *def,
                                    int *index);
perp_status perp_model_add_shape(perp_ctx *ctx, perp_model *model, const perp_shape_def *def,
                                 int *index);
/* Ends building: numbers rows, builds the block pattern.  Refuses joints that the initial state
 * contradicts, unless they start otherwise (perp_joint_start): a position error above 1e-6 of the
 * size of the model (1e-6 for angles), or a velocity error |J v| above 1e-6 of the fastest initial
 * motion (soft joints may move): PERP_ERR_ARG, as for a model without bodies or a shape that cannot
 * be compiled.  Allocates all that the model will ever need. */
perp_status perp_model_finish(perp_ctx *ctx, perp_model *model);

/* ---- questions ---- */

/* From here on nothing allocates; what reads all of q or v costs O(bodies + joints). */

int perp_model_dim(const perp_model *model);
int perp_model_bodies(const perp_model *model);
int perp_model_joints(const perp_model *model);
int perp_model_shapes(const perp_model *model);
int perp_model_nq(const perp_model *model);
int perp_model_nv(const perp_model *model);
int perp_model_m(const perp_model *model);
const double *perp_model_q0(const perp_model *model); /* [nq] initial state, NULL before finish */
const double *perp_model_v0(const perp_model *model); /* [nv] */
double perp_model_size(const perp_model *model); /* m, extent of the initial state, after finish */
/* After finish: have rows of joints or actuators compliance, stiffness or damping? */
bool perp_model_compliant(const perp_model *model);
/* What the surfaces of two shapes have with each other: the pair of their materials, or their own
 * combined by the rule of friction (shape.h).  O(log pairs). */
perp_surface perp_model_surface_pair(const perp_model *model, int shape_a, int shape_b);
const perp_body_def *perp_model_body(const perp_model *model, int i);
const perp_joint_def *perp_model_joint(const perp_model *model, int i);
const perp_shape_def *perp_model_shape(const perp_model *model, int i);
int perp_model_force_elements(const perp_model *model);
const perp_force_def *perp_model_force_element(const perp_model *model, int i);
double perp_model_gravity_of(const perp_model *model);
/* First row of joint i and its number of rows. */
int perp_model_joint_row(const perp_model *model, int i, int *rows);

/* The row on velocities that joint i is, with the numbers of the model; false: it is none. */
bool perp_model_rate_of(const perp_model *model, int i, perp_rate_def *def);

/* The coupling, the armature that joint i is, with the numbers of the model; false: it is none. */
bool perp_model_coupling_of(const perp_model *model, int i, perp_coupling_def *def);
bool perp_model_armature_of(const perp_model *model, int i, perp_armature_def *def);

/* Joints of motions are joints of the model, the last ones; which motion joint i is of, -1: none.
 */
int perp_model_motions(const perp_model *model);
const perp_motion_def *perp_model_motion(const perp_model *model, int i);
int perp_model_joint_motion(const perp_model *model, int i);
/* Bodies that are disabled for a time; their joints follow those of the model and precede those of
 * motions.  Which one joint i is of, -1: none. */
int perp_model_disabled(const perp_model *model);
const perp_disabled_def *perp_model_disabled_of(const perp_model *model, int i);
int perp_model_joint_disabled(const perp_model *model, int i);
int perp_model_stops(const perp_model *model);
/* The signal with this number; NULL: none. */
const perp_signal *perp_model_signal(const perp_model *model, perp_signal_ref signal);
int perp_model_signals(const perp_model *model);
perp_signal_ref perp_model_gravity_signal_of(const perp_model *model);
double perp_model_gravity_at(const perp_model *model, double t);
/* Does anything depend on time (gravity, forces, drives, motions), or does a surface move? */
bool perp_model_depends_on_time(const perp_model *model);

perp_friction_rule perp_model_friction_of(const perp_model *model);
/* Pairs of materials in the order of their numbers: a <= b and what they have; NULL: there is no
 * i-th. */
const perp_surface *perp_model_pair(const perp_model *model, int i, int *a, int *b);

/* May bodies a and b have no contact?  O(log pairs). */
bool perp_model_no_contact(const perp_model *model, int a, int b);
/* The i-th pair of them, a < b, and its depth; false: there is none. */
bool perp_model_no_contact_of(const perp_model *model, int i, int *a, int *b, double *depth);

int perp_model_drives(const perp_model *model);
const perp_drive_def *perp_model_drive(const perp_model *model, int i);
/* s of the foot of joint i, a curve joint, at q. */
double perp_model_curve_place(const perp_model *model, const double *q, int i);
/* Point and dc/ds of that curve at s, in the frame of its body a. */
void perp_model_curve_point(const perp_model *model, int i, double s, double c[3],
                            double tangent[3]);
/* Can two of its shapes touch, wherever bodies go?  Joints that keep their bodies apart are not
 * looked at.  O(shapes^2). */
bool perp_model_collides(const perp_model *model);
/* Is the place of anything prescribed: by a motion, by a joint C(q, t) = 0? */
bool perp_model_prescribes(const perp_model *model);
/* x of a drive at q.  Angles are within half a turn of those at the last q of perp_model_follow, at
 * first of `zero`. */
double perp_model_drive_coordinate(const perp_model *model, const double *q, int i);
/* Is x of a drive a length, and its force in N? */
bool perp_model_drive_slides(const perp_model *model, int i);
/* The states of a motion in turn, so that perp_model_drive_coordinate and perp_model_energy tell
 * angles over more than half a turn; NULL before the first one: from `zero` again.  Simulations
 * follow angles by themselves. */
void perp_model_follow(perp_model *model, const double *q);

/* World position / velocity of the point s (body frame) of a body; PERP_WORLD gives s itself and
 * 0. */
void perp_model_point(const perp_model *model, const double *q, int body, const double s[3],
                      double p[3]);
void perp_model_point_velocity(const perp_model *model, const double *q, const double *v, int body,
                               const double s[3], double pdot[3]);
/* R [9] column-major, body to world. */
void perp_model_rotation(const perp_model *model, const double *q, int body, double R[9]);
/* Power that the rows of motions bring in with their multipliers lambda [m], W: lambda . J v =
 * -lambda . C_t, at (t, q). */
double perp_model_motion_power(const perp_model *model, double t, const double *q,
                               const double *lambda);
/* Kinetic energy (with that of armatures), potential energy (gravity, as it is at t, springs, and
 * those of servo drives). */
void perp_model_energy(const perp_model *model, double t, const double *q, const double *v,
                       double *kinetic, double *potential);
/* Linear momentum P and angular momentum L about the origin, world frame. */
void perp_model_momentum(const perp_model *model, const double *q, const double *v, double P[3],
                         double L[3]);

/* ---- what formulations use ---- */

/* |force| of joint i on a body of it, N, with the multipliers lambda [m] and the J of blocks. */
double perp_model_joint_force(const perp_model *model, const perp_blocks *blocks, int i,
                              const double *lambda);
/* C [m] at (t, q): metres for translation rows, radians (sines) for rotation rows; 0 for
 * springs. */
void perp_model_error(const perp_model *model, double t, const double *q, double *C);
/* x [m], a figure of each row: 0 for springs and armatures, which hold nothing. */
void perp_model_rigid_rows(const perp_model *model, double *x);
/* Update J (and M, which is constant) at (t, q) in the blocks of the model and return them.  The
 * index arrays never change after finish. */
const perp_blocks *perp_model_assemble(perp_model *model, double t, const double *q);
const perp_blocks *perp_model_blocks(const perp_model *model); /* as last assembled */
/* f [nv]: all forces and the gyroscopic term at (t, q, v). */
void perp_model_forces(const perp_model *model, double t, const double *q, const double *v,
                       double *f);
/* Cdot [m] = J v + C_t at (t, q, v); C_t is not 0 for motions only. */
void perp_model_rate(const perp_model *model, double t, const double *q, const double *v,
                     double *Cdot);
/* gamma [m] = Jdot v, for motions with the terms of C_t and C_tt, so that C.. = J a + gamma. */
void perp_model_jdotv(const perp_model *model, double t, const double *q, const double *v,
                      double *gamma);
/* Of force element i of a finished model at (t, q, v): which bodies it moves (in the order of the
 * blocks below; at most PERP_ELEMENT_BODIES), how many; and the derivatives of their generalized
 * forces by dq (perp_model_retract) and by v, N x N column-major with N = bodies * (6 or 3): of a
 * plug-in by its `gradient`, else by central differences.  dq, dv NULL: the bodies only.  Pairs
 * have no answer: 0.  No allocation. */
int perp_model_force_gradient(const perp_model *model, int i, double t, const double *q,
                              const double *v, int body[PERP_ELEMENT_BODIES], double *dq,
                              double *dv);
/* Manifold: see ode.h.  qdot = N(q) v. */
void perp_model_qdot(const perp_model *model, const double *q, const double *v, double *qdot);
void perp_model_retract(const perp_model *model, const double *q, const double *dq, double *q_out);
/* The derivative of a function of dq, q1 = q0 [+] dq, by q1 and, negative, by q0; p is that by dq.
 * All [nv]. */
void perp_model_transport(const perp_model *model, const double *dq, const double *p, double *start,
                          double *end);
void perp_model_difference(const perp_model *model, const double *q0, const double *q1, double *dq);
/* du [nv] = dexp^-1_u(v), the rate of an increment u of q = q0 [+] u: see perp_ode_sys.  du may
 * alias v. */
void perp_model_dexpinv(const perp_model *model, const double *u, const double *v, double *du);
/* v [nv] = dexp_u(du), the inverse of that; v may alias du. */
void perp_model_dexp(const perp_model *model, const double *u, const double *du, double *v);
void perp_model_project(const perp_model *model, double *q);
bool perp_model_forces_need_velocity(const perp_model *model);

#ifdef __cplusplus
}
#endif

#endif
