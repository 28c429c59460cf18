/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of keys: what a map of a scene file may say, and where it goes in the definition that
 * models take.  A new member of a definition is one row.  Private to experiments/scenes. */
#ifndef PERP_SCENES_KEYS_H
#define PERP_SCENES_KEYS_H

#include "experiments/scenes/values.h"
#include "models/figures/control.h"
#include "models/scenes/scene.h"

typedef enum perp_key_type {
  PERP_KEY_END,
  PERP_KEY_NUMBER, /* double */
  PERP_KEY_VECTOR, /* double [n]: in the plane the last of three may be left out */
  PERP_KEY_WHOLE,  /* int, not negative */
  PERP_KEY_BOOL,   /* bool */
  PERP_KEY_TEXT,   /* const char * */
  PERP_KEY_CHOICE, /* an enum or int: one of names, in their order */
  PERP_KEY_BODY,   /* int: name or number of a body, or world */
  PERP_KEY_JOINT,  /* int: name or number of a joint */
  PERP_KEY_OTHER   /* read by the section itself */
} perp_key_type;

typedef struct perp_key {
  const char *name, *unit;
  perp_key_type type;
  size_t at;
  int n;
  const char *const *names; /* CHOICE: NULL-terminated */
  size_t signal; /* NUMBER, VECTOR: where the signals of the n numbers are; 0: they have none */
} perp_key;

#define PERP_KEY_AT(S, f, T) (offsetof(S, f) + PERP_IS_(S, f, T))
#define PERP_KEY_REAL(S, f, name, unit)                                                            \
  {                                                                                                \
    name, unit, PERP_KEY_NUMBER, PERP_KEY_AT(S, f, double), 1, NULL, 0                             \
  }
#define PERP_KEY_REALS(S, f, name, unit, n)                                                        \
  {                                                                                                \
    name, unit, PERP_KEY_VECTOR, offsetof(S, f), n, NULL, 0                                        \
  }
/* n numbers, each with a signal. */
#define PERP_KEY_DRIVEN(S, f, s, name, unit, n)                                                    \
  {                                                                                                \
    name, unit, n == 1 ? PERP_KEY_NUMBER : PERP_KEY_VECTOR, offsetof(S, f), n, NULL,               \
        offsetof(S, s)                                                                             \
  }
#define PERP_KEY_ONE_OF(S, f, name, names)                                                         \
  {                                                                                                \
    name, "", PERP_KEY_CHOICE,                                                                     \
        offsetof(S, f) + 0 * sizeof(char[sizeof(((S *)0)->f) == sizeof(int) ? 1 : -1]), 1, names,  \
        0                                                                                          \
  }
#define PERP_KEY_OF(S, f, name, type)                                                              \
  {                                                                                                \
    name, "", type, offsetof(S, f), 1, NULL, 0                                                     \
  }
#define PERP_KEY_SPECIAL(name)                                                                     \
  {                                                                                                \
    name, "", PERP_KEY_OTHER, 0, 1, NULL, 0                                                        \
  }
/* Of the entries of lists: see perp_entries. */
#define PERP_KEYS_ENTRY                                                                            \
  PERP_KEY_SPECIAL("repeat"), PERP_KEY_SPECIAL("let"), PERP_KEY_SPECIAL("when")
#define PERP_KEYS_END                                                                              \
  {                                                                                                \
    0                                                                                              \
  }

/* A scene file being built. */
typedef struct perp_named {
  perp_names names;     /* of the parts that have one */
  int *index;           /* [names.n] which part it is */
  int n;                /* parts */
  const perp_node **at; /* [n] where each stands */
} perp_named;

typedef struct perp_scene_body {
  perp_body_def def;
  perp_body_def before; /* of a scene with a pose: as it is without */
  double density;
  const perp_node *at;     /* its entry */
  const perp_node *set[5]; /* where x, orientation, v, w, mass stand */
  int n_shapes;
  perp_shape_def *shape; /* [n_shapes] with it */
  const perp_node **shape_at;
} perp_scene_body;

typedef struct perp_scene_reader perp_scene_reader;
/* n numbers (1: no list), each of which may be a signal of the model that is being built: x[i] +
 * signal[i](t), 0: none. missing: as of perp_keys_vector. */
typedef bool perp_signals_fn(perp_scene_reader *r, const perp_node *node, const char *unit, int n,
                             int missing, double *x, perp_signal_ref *signal);

struct perp_scene_reader {
  perp_ctx *ctx;
  perp_diag *diag;
  perp_pool *pool;
  perp_values values;
  const perp_node *root;
  perp_scene *scene; /* being built */
  int dim, entries;
  bool section; /* in the plane, of a scene that is written for space: vectors are (x, y, z), and y
                   is left out */
  perp_named bodies, joints;
  perp_scene_body *body; /* [bodies.n] */
  bool filters;          /* no_contact has `overlapping` */
  bool posed;            /* there is a pose */
  double (*turned)[10];  /* [joints] angles by perp_drive_axis, of the pose; NULL: there is none */
  int n_shapes;
  const perp_node **shape_at; /* [n_shapes] */
  int n_motions;
  perp_motion_def *motion; /* [n_motions] */
  const perp_node **motion_at;
  int n_disabled;
  const perp_node **disabled_at; /* [n_disabled] */
  const perp_node *materials;
  bool bare;       /* without controller, truths and gauges: of which the motion of one is made */
  perp_goal *goal; /* of the controller; NULL: there is none */
  const char *folder;       /* relative names of sources are relative to it */
  perp_signals_fn *signals; /* perp_scene_read_signals */
};

/* An error at a node of the file, without a hint. */
#define PERP_SCENE_WRONG(r, at, ...) perp_diag_error((r)->diag, at, 0, NULL, __VA_ARGS__)
/* The message of ctx at a node. */
void perp_scene_refused(perp_scene_reader *reader, const perp_node *at);

/* Members of a map into *to; unknown keys, and values that do not fit, are errors.  false after an
 * error.  to NULL: the names are looked at only. */
bool perp_keys_read(perp_scene_reader *reader, const perp_node *map, const char *what,
                    const perp_key *keys, void *to);
/* An error with the closest of the names. */
void perp_scene_unknown(perp_diag *diag, const perp_node *at, const char *what, const char *word,
                        const char *const *names, int n);
/* n numbers; missing: so many of the last ones may be left out and stay as they are. */
bool perp_keys_vector(perp_scene_reader *reader, const perp_node *node, const char *unit, int n,
                      int missing, double *x);
/* Three numbers in space; in the plane the third may be left out, and of the section of space it is
 * (x, z). */
bool perp_keys_spatial(perp_scene_reader *reader, const perp_node *node, const char *unit,
                       double x[3]);
/* Index of one of names, ended by NULL. */
bool perp_keys_choice(perp_scene_reader *reader, const perp_node *node, const char *const *names,
                      int *x);
/* Points of `width` numbers [m]: lists, and maps { repeat, point }.  *points from the pool. */
bool perp_keys_points(perp_scene_reader *reader, const perp_node *node, int width, double **points,
                      int *n);

/* `turn`, one or one after the other: in space into quat, of a section added to the angle. */
bool perp_scene_read_turn(perp_scene_reader *reader, const perp_node *node, double quat[4],
                          double *angle);
/* `w` of a body. */
bool perp_scene_read_rate(perp_scene_reader *reader, const perp_node *node, double w[3]);

/* A part with its name (NULL: none); its number, -1 after an error: the name is taken. */
int perp_named_add(perp_scene_reader *reader, perp_named *named, const char *what, const char *name,
                   const perp_node *at);
/* The number of the part that a node names; -2 after an error.  world: PERP_WORLD is one. */
int perp_named_find(perp_scene_reader *reader, perp_named *named, const char *what, bool world,
                    const perp_node *node);

/* Each entry of a list of maps as often as it is repeated, with its own values (`let`) and only
 * where its condition
 * (`when`) holds.  node NULL: nothing. */
typedef void perp_entry_fn(perp_scene_reader *r, const perp_node *entry, void *user);
void perp_entries(perp_scene_reader *reader, const perp_node *list, const char *section,
                  perp_entry_fn *entry, void *user);
/* The same of one map. */
void perp_entry(perp_scene_reader *reader, const perp_node *map, perp_entry_fn *entry, void *user);
/* Has an entry of a kind what it needs, and nothing without a meaning?  wants: "key ?key", those
 * that may be missing with ?. */
bool perp_scene_fit(perp_scene_reader *reader, const perp_node *entry, const perp_key *keys,
                    const char *kind, const char *wants);
/* Derived values: a map of names. */
bool perp_scene_let(perp_scene_reader *reader, const perp_node *map);

#endif
