/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model of MuJoCo on its way to a scene file.  Private to mjcf*.c, which need libmujoco. */
#ifndef PERP_MJCF_MODEL_H
#define PERP_MJCF_MODEL_H

#include "experiments/import/mjcf.h"

#include <mujoco/mujoco.h>
#include <stdio.h>

typedef struct perp_mj_axis { /* the drive axis of a scalar joint */
  const char *joint;          /* name of the joint in the scene; NULL: it has none */
  const char *axis;           /* a, b, node */
  double sign;                /* -1: its coordinate runs the other way */
  double least, most;         /* of the coordinate of MuJoCo, beyond which an angle is not known */
} perp_mj_axis;

typedef struct perp_mj {
  perp_pool pool;
  const mjModel *m;
  mjData *d; /* at the initial state */
  FILE *out; /* the scene */
  perp_mjcf *to;
  int *root;         /* [nbody] the body that it moves with; 0: the world */
  const char **body; /* [nbody] name in the scene, of roots */
  double *com; /* [3 nbody] centre of mass of a root and all that is welded to it, in its frame */
  perp_names bodies, joints;       /* names that are taken */
  perp_mj_axis *axis;              /* [njnt] */
  const double *ctrl;              /* [nu] of the initial state */
  const char **control;            /* [nu] parameter that is its control; NULL: a constant */
  struct perp_mj_surface *surface; /* [n_surfaces] kinds of friction of geoms */
  int n_surfaces, *surface_of;     /* [ngeom] */
  bool materials;                  /* they are materials of the scene */
  bool driven, dissipative;
} perp_mj;

/* One line of what the scene has not (physics), or has in another way. */
void perp_mj_lost(perp_mj *mj, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void perp_mj_note(perp_mj *mj, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The conversion cannot be made. */
void perp_mj_refuse(perp_mj *mj, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Name of an element, "KIND NUMBER" where it has none. */
const char *perp_mj_name(perp_mj *mj, mjtObj type, const char *kind, int id);
/* The same or, where that is taken or is no name in a scene, one like it. */
const char *perp_mj_fresh(perp_mj *mj, perp_names *names, const char *name);
/* A number with all its digits. */
void perp_mj_digits(perp_mj *mj, double v);
/* ", KEY: [...]" and ", KEY: x" with all digits. */
void perp_mj_vector(perp_mj *mj, const char *key, int n, const double *v);
void perp_mj_number(perp_mj *mj, const char *key, double v);
/* A world point, or direction, in the frame of the body of the scene that a body of MuJoCo belongs
 * to. */
void perp_mj_local(const perp_mj *mj, int body, bool place, const double p[3], double s[3]);
/* "world", or the name of the body in quotes. */
void perp_mj_body(perp_mj *mj, const char *key, int body);
bool perp_mj_disabled(const perp_mj *mj, int bit);

/* Sections, in this order. */
void perp_mj_bodies(perp_mj *mj); /* bodies, joints */
void perp_mj_loops(perp_mj *mj);  /* equality constraints, further joints */
void perp_mj_drives(perp_mj *mj);
void perp_mj_forces(perp_mj *mj);
void perp_mj_shapes(perp_mj *mj);
void perp_mj_rest(perp_mj *mj); /* what nothing else has spoken of */

#endif
