/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The compiled model of a robot, between the readers (MJCF, URDF, SDF) that fill it and the
 * converter that makes a scene of it.  Private to experiments/import.
 *
 * Conventions: a pose is the place x of a frame and its quaternion (w, x, y, z), of length 1, in
 * the frame of the parent; matrices R of poses are column-major, R[i + 3 k], as everywhere in perp,
 * and turn vectors of the frame into those of the world; SI units, angles in rad; a name is never
 * NULL, "" where there is none.  Everything lives in the pool of the robot. */
#ifndef PERP_ROBOT_H
#define PERP_ROBOT_H

#include "experiments/base/memory.h"

/* ---- what becomes of a file ---- */

typedef struct perp_robot_report {
  perp_text scene; /* empty after an error */
  perp_text said;  /* lines "lost: ...", "note: ..." */
  int lost;        /* lines that are lost */
  perp_text files; /* paths of all files that were read, a line each, the named one first */
  perp_text error, hint, file;
  int line; /* of the error in `file`, from 1; 0: none */
} perp_robot_report;

/* ---- elements ---- */

typedef enum perp_robot_joint_kind {
  PERP_ROBOT_FREE, /* q: place and quaternion in the world; v: velocity (world), turning (own) */
  PERP_ROBOT_BALL, /* q: quaternion in the parent; v: turning in the frame of the body */
  PERP_ROBOT_SLIDE,
  PERP_ROBOT_HINGE
} perp_robot_joint_kind;

typedef enum perp_robot_geom_kind {
  PERP_ROBOT_PLANE,     /* z is its normal; no size */
  PERP_ROBOT_FIELD,     /* height field */
  PERP_ROBOT_SPHERE,    /* radius */
  PERP_ROBOT_CAPSULE,   /* radius, half of the straight length, along z */
  PERP_ROBOT_ELLIPSOID, /* three half axes */
  PERP_ROBOT_CYLINDER,  /* radius, half length, along z */
  PERP_ROBOT_BOX,       /* three half edges */
  PERP_ROBOT_MESH
} perp_robot_geom_kind;

typedef enum perp_robot_equality_kind {
  PERP_ROBOT_CONNECT, /* point[0] of body a is point[1] of body b */
  PERP_ROBOT_WELD,    /* so it is, and the frame of b has the orientation `turn` in that of a */
  PERP_ROBOT_COUPLE,  /* (q_a - ref_a) = poly(q_b - ref_b) of joints; b < 0: poly[0] */
  PERP_ROBOT_LENGTHS  /* the same of lengths of tendons */
} perp_robot_equality_kind;

typedef enum perp_robot_transmission {
  PERP_ROBOT_AT_JOINT,
  PERP_ROBOT_AT_TENDON,
  PERP_ROBOT_AT_SITE,
  PERP_ROBOT_AT_CRANK, /* a slider-crank */
  PERP_ROBOT_AT_BODY   /* contacts of a body: adhesion */
} perp_robot_transmission;

typedef struct perp_robot_body {
  const char *name;
  int parent; /* a lower number; 0: the world, which is body 0 */
  double x[3], quat[4];
  double mass, com[3], inertia[9]; /* symmetric, about com, along the axes of the body */
  double gravcomp;                 /* share of its weight that a force takes away */
  bool mocap;                      /* moved from outside: fixed here */
  const char *file;                /* where it is said, for errors; NULL: in the named file */
  int line;
  /* by perp_robot_finish */
  int root;            /* first of the bodies that it cannot move against; 0: the world */
  int joint, n_joints; /* the joints that connect it with its parent */
  /* by perp_robot_pose: in the world, at the initial state */
  double at[3], turn[4], R[9], velocity[3], turning[3]; /* of its frame, along world axes */
} perp_robot_body;

typedef struct perp_robot_joint {
  const char *name;
  int body;
  perp_robot_joint_kind kind;
  double x[3], axis[3]; /* in the frame of the body; axis of length 1 */
  double ref;           /* coordinate of the pose as drawn */
  bool limited;         /* ball: range[1] bounds the angle of the rotation */
  double range[2], margin;
  double stiffness, springref, damping, armature, frictionloss;
  bool bounded; /* the sum of forces of its actuators */
  double force[2];
  double fastest;    /* URDF: bound of its velocity; 0: none */
  double q[7], v[6]; /* initial state; scalar joints: q[0], v[0] */
  /* by perp_robot_pose: in the world, before this joint turns its body */
  double anchor[3], along[3];
} perp_robot_joint;

typedef struct perp_robot_geom {
  const char *name;
  int body;
  perp_robot_geom_kind kind;
  double x[3], quat[4], size[3];
  int asset; /* of a mesh or a field; -1 */
  int contype, conaffinity, condim, priority;
  double friction[3], margin;
} perp_robot_geom;

typedef struct perp_robot_mesh {
  const char *name;
  int n, n_faces; /* vertices, triangles */
  double *vertex; /* [3 n] in the frame of the geom, in m */
  int *face;      /* [3 n_faces], from 0, counterclockwise from outside; a cloud has none */
} perp_robot_mesh;

typedef struct perp_robot_field {
  const char *name;
  int rows, columns; /* along y, along x */
  double size[4];    /* half lengths along x and y, height of 1, depth below 0 */
  double *height;    /* [rows columns] from 0 to 1, row 0 at least y */
} perp_robot_field;

typedef struct perp_robot_equality {
  const char *name;
  perp_robot_equality_kind kind;
  int a, b; /* bodies, joints or tendons */
  bool active;
  double point[2][3], turn[4], poly[5];
} perp_robot_equality;

typedef struct perp_robot_term {
  int joint; /* a hinge or a slide */
  double factor;
} perp_robot_term;

/* A fixed tendon has the length sum factor q; one of two sites is the straight line between them.
 */
typedef struct perp_robot_tendon {
  const char *name;
  int joints, sites, others; /* what it passes */
  int n_terms;               /* of a fixed one: each joint once, no factor is 0 */
  perp_robot_term *term;
  int body[2]; /* of the first two sites */
  double point[2][3];
  bool limited;
  double range[2], stiffness, damping, frictionloss, armature, margin;
  double rest[2]; /* no force of the spring between these lengths; NAN: not known */
} perp_robot_tendon;

/* F = gain ctrl + bias[0] + bias[1] l + bias[2] l', within `force`; it acts by gear F where l is
 * gear q. */
typedef struct perp_robot_actuator {
  const char *name;
  perp_robot_transmission at;
  int target;        /* joint or tendon; others: -1 */
  const char *whose; /* name of the target */
  double gear;
  const char *beyond; /* words for what the scene has not: "an activation state"; NULL: nothing */
  double gain, bias[3], ctrl;
  bool ctrl_limited, force_limited;
  double ctrl_range[2], force[2];
} perp_robot_actuator;

/* Contacts that are (not) tested, by numbers of bodies or geoms. */
typedef struct perp_robot_pair {
  int a, b;
} perp_robot_pair;

/* What acts: all but what the file disables. */
enum {
  PERP_ROBOT_EQUALITIES = 1 << 0,
  PERP_ROBOT_LIMITS = 1 << 1,
  PERP_ROBOT_DRY = 1 << 2, /* friction losses */
  PERP_ROBOT_CONTACTS = 1 << 3,
  PERP_ROBOT_CONSTRAINTS = PERP_ROBOT_EQUALITIES | PERP_ROBOT_LIMITS | PERP_ROBOT_DRY |
                           PERP_ROBOT_CONTACTS,
  PERP_ROBOT_SPRINGS = 1 << 4,
  PERP_ROBOT_DAMPERS = 1 << 5,
  PERP_ROBOT_GRAVITY = 1 << 6,
  PERP_ROBOT_CLAMPS = 1 << 7, /* of controls to their range */
  PERP_ROBOT_ACTUATORS = 1 << 8,
  PERP_ROBOT_PARENT_FILTER = 1 << 9, /* no contacts of a body with its parent */
  PERP_ROBOT_ALL = (1 << 10) - 1
};

typedef struct perp_robot {
  perp_pool pool;
  perp_robot_report *to;
  const char *path;   /* the file that the person named */
  const char *format; /* "MJCF", "URDF", "SDF" */
  const char *key;    /* keyframe that is the initial state; NULL: as drawn */
  const char *name;
  double timestep, gravity[3], density, viscosity, wind[3];
  unsigned acts; /* PERP_ROBOT_EQUALITIES | ... */
  int n_bodies, n_joints, n_geoms, n_meshes, n_fields, n_equalities, n_tendons, n_actuators,
      n_excludes, n_pairs;
  perp_robot_body *body; /* body 0 is the world */
  perp_robot_joint *joint;
  perp_robot_geom *geom;
  perp_robot_mesh *mesh;
  perp_robot_field *field;
  perp_robot_equality *equality;
  perp_robot_tendon *tendon;
  perp_robot_actuator *actuator;
  perp_robot_pair *exclude, *pair; /* of bodies, of geoms */
} perp_robot;

/* ---- what a reader calls ---- */

/* An empty robot with the world; zero before. */
void perp_robot_begin(perp_robot *robot, perp_robot_report *to, const char *path, const char *key);
/* One more element, with the defaults of MJCF: poses are identities, all else is zero but
 * axis (0, 0, 1), contype, conaffinity 1, condim 3, friction (1, 0.005, 0.0001), gear, gain 1.
 * The pointer is good until the next element of that kind.  A body's parent exists already; joints
 * of one body act in the order in which they are added. */
perp_robot_body *perp_robot_add_body(perp_robot *robot, int parent);
perp_robot_joint *perp_robot_add_joint(perp_robot *robot, int body, perp_robot_joint_kind kind);
perp_robot_geom *perp_robot_add_geom(perp_robot *robot, int body, perp_robot_geom_kind kind);
perp_robot_mesh *perp_robot_add_mesh(perp_robot *robot);
perp_robot_field *perp_robot_add_field(perp_robot *robot);
perp_robot_equality *perp_robot_add_equality(perp_robot *robot, perp_robot_equality_kind kind);
perp_robot_tendon *perp_robot_add_tendon(perp_robot *robot);
perp_robot_actuator *perp_robot_add_actuator(perp_robot *robot);
void perp_robot_add_exclude(perp_robot *robot, int a, int b);
void perp_robot_add_pair(perp_robot *robot, int a, int b);

/* One line of physics that the scene does not have, with its effect, or has in another way. */
void perp_robot_lost(perp_robot *robot, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void perp_robot_note(perp_robot *robot, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The file cannot be read: the first call counts, and the reader returns soon.  file NULL: the one
 * that was named; line 0: none; hint "": none. */
void perp_robot_refuse(perp_robot *robot, const char *file, int line, const char *hint,
                       const char *fmt, ...) __attribute__((format(printf, 5, 6)));
bool perp_robot_refused(const perp_robot *robot);
/* A file that was read: it belongs to the run. */
void perp_robot_read_file(perp_robot *robot, const char *path);

/* ---- what follows from it ---- */

/* Joints in the order of their bodies (old[i]: the number that joint i had; equalities and
 * actuators follow), roots.  Bodies keep their numbers. */
void perp_robot_finish(perp_robot *robot);
/* Poses, anchors, axes and velocities in the world, from q and v of the joints. */
void perp_robot_pose(perp_robot *robot);
/* The text of a scene in robot->to. */
void perp_robot_scene(perp_robot *robot);

/* ---- readers: of a file whose root element they have seen ---- */

struct _xmlDoc; /* of libxml2; robot->path names its file */
void perp_mjcf_read(perp_robot *robot, struct _xmlDoc *doc);
void perp_urdf_read(perp_robot *robot, struct _xmlDoc *doc);
/* From now on links of a URDF that no joint carries are free; false, at first: parts of the world.
 */
void perp_urdf_floating(bool floating);
/* Default of the parameter `filter` of scenes from now on; true, at first. */
void perp_robot_filter(bool filter);
void perp_sdf_read(perp_robot *robot, struct _xmlDoc *doc);
/* The SDF file that a model.config names; NULL after an error. */
const char *perp_sdf_of_folder(perp_robot *robot, const char *config);

/* The reader of the root element of doc, which is freed, then the scene. */
void perp_robot_document(perp_robot *robot, struct _xmlDoc *doc);
/* A robot in any of these formats, in this process: the reader of its root element, then the scene.
 * out is zero before. */
void perp_robot_convert(const char *path, const char *key, perp_robot_report *out);

#endif
