/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The problems of all islands in arrays that they share: inside islands*.c. */
#ifndef PERP_ISLANDS_PROBLEM_H
#define PERP_ISLANDS_PROBLEM_H

#include "models/contact/step/islands_task.h"
#include "solvers/lcp/unique.h"

enum { JOINT_ROWS = 6 };

/* What one thread has of its own. */
typedef struct lane {
  perp_ctx ctx;
  void *ws;
  perp_contact_count count;
  struct islands_choice *choice; /* NULL: none, or a law without friction */
} lane;

/* What an island has.  The contacts of island i are the places first[CONTACTS] of start[i] to that
 * of start[i + 1] in the order of all islands, and so on. */
enum { CONTACTS, BODIES, JOINTS, BOUNDED, PARTS };
typedef struct island {
  int first[PARTS];
  int joint_rows; /* free rows of all islands before */
  int joint_subs; /* their sub-matrices, and the numbers in these */
  int couples,
      couple_rows; /* contacts with couples, and the rows of these, of all islands before */
  size_t joint_numbers;
  size_t dense;   /* where its matrix starts in A */
  bool eliminate; /* its joints: the problem is dense */
  bool solved;    /* its guess was not the answer */
  bool none;      /* it was shown to have no solution */
} island;

/* What is known of the solutions of an island: see islands_choice.c. */
typedef struct island_known {
  uint64_t ids, key;  /* contacts; with what they did */
  bool slides;        /* one of them did */
  bool open;          /* impulses are not unique */
  bool alone;         /* no second solution was found with these contacts */
  bool several;       /* one was found in the run */
  unsigned vain;      /* examinations without one */
  double work, spent; /* multiplications: of the solver, and of second solutions */
  bool unsolved;      /* its last problem was not */
} island_known;

/* Bodies [bodies]. */
typedef struct islands_bodies {
  int *joint_root;     /* representative by joints alone */
  int *parent;         /* and by contacts: one of the island */
  int *island_of;      /* -1: of none */
  int *local;          /* place in its island */
  int *order;          /* by island */
  int *mass_place;     /* by island: whose M_b stands there; -1: none */
  bool *jointed;       /* has a joint */
  unsigned char *diag; /* by island: is M_b^-1 diagonal? */
  double *mass;        /* kg */
  island_known *known; /* by the first body of an island: not of a lane, which islands share */
  island_known *kept[PERP_ENDS]; /* as perp_islands_keep found them */
} islands_bodies;

/* Contacts [n] at their places in the order of all islands, but for what says otherwise. */
typedef struct islands_contacts {
  int *owner;    /* of a contact: a moving body, -1: it does not take part */
  int *order;    /* contact at each place */
  double *frame; /* [6 n] t1, t2 */
  double *mu, *slip;
  double *restitution;       /* see perp_contact_terms */
  double *least;             /* least impulse of decompression, or (laws of one contact) the
                                normal velocity before the step */
  double *drag;              /* [2 n] friction of sliding contacts, see contact.h */
  double *torsion, *rolling; /* of a contact, m: with couples */
} islands_contacts;

/* Rows of all islands: r of each contact, then the others ("further") of its island. */
typedef struct islands_rows {
  double *b, *x, *s, *diagonal;              /* [rows], the last of A */
  double *b_decompression, *x_decompression; /* [rows + n], [rows] */
  double *lo, *hi;                           /* [further] */
  double *left_lo, *left_hi;                 /* [further] what compression leaves of them */
  int *of;                                   /* [further] with couples, see contact.h */
  double *mu;
  signed char *pair;
} islands_rows;

/* The block structure of all islands, see blocks.h. */
typedef struct islands_structure {
  int *bptr, *mptr, *tptr; /* [2 bodies + 1] */
  int *cptr, *jptr, *joff, *jblk, *jgrp, *tsub;
  double *M, *Minv, *flat, *J;
} islands_structure;

/* Factors of the equations of frozen contacts, kept from solve to solve (islands_frozen.c); zeros
 * before the first use. */
enum { PERP_ISLAND_FACTORS = 5 }; /* the first one for what is not kept */
typedef struct island_factor {
  uint64_t key;
  int64_t used; /* in this call of perp_islands_solve */
  int n, rank;  /* n: 0 = none */
  double *A, *tau_q, *tau_z;
  int *pivot;
} island_factor;

/* Zeros before the first use. */
typedef struct perp_island_factors {
  int64_t call; /* of perp_islands_solve */
  int cap, lwork;
  double *b, *work; /* [4 cap], [lwork] */
  int *row;         /* [cap] */
  island_factor factor[PERP_ISLAND_FACTORS];
  perp_arena grown;
} perp_island_factors;

/* Scratch. */
typedef struct islands_work {
  double *v_star;        /* [nv] M^-1 f, for joints as rows */
  double *twist_star;    /* [6 bodies] of it */
  double *twist_end;     /* [6 bodies] at the end of the step */
  double *f, *a;         /* [nv] response */
  double *zero, *lambda; /* [m] */
  double *product;       /* [2 nv] by island */
  double *impulse;       /* [4 n] of a caller without arrays of its own */
  int *cursor;           /* [bodies + 1] */
} islands_work;

typedef struct perp_islands {
  const perp_model *model;
  const perp_contact_desc *kind;
  int r;        /* rows of a contact */
  bool rows;    /* joints are free rows */
  bool couples; /* surfaces resist spinning or rolling */
  int threads;
  lane *lanes; /* [threads] */
  perp_contact_count count;
  perp_contact_observer *observer; /* NULL: none */
  void *user;
  double tol, tol_data; /* of a solution, see contact.h */
  int64_t calls;        /* of perp_islands_solve */
  int n_islands;
  island *start; /* [bodies + 1] */
  islands_bodies body;
  int *joints, *joint_body;    /* [joints] by island; a moving body of each */
  int *bounded, *bounded_body; /* [max_bounded] bounded rows by island; a moving body of each */
  int max_bounded;             /* 3 of each drive */
  int cap;                     /* contacts that there is room for */
  islands_contacts contact;
  islands_rows row;
  islands_structure F;
  islands_work work;
  double *A; /* matrices of eliminated islands */
  size_t cap_A;
  perp_island_factors factors; /* of islands_frozen.c */
  perp_arena grown;
} perp_islands;

/* One call, for the members of a team. */
typedef struct islands_job {
  perp_islands *s;
  const perp_constrained *k;
  const perp_island_task *task;
  double *f;
} islands_job;

/* How many contacts, bodies, joints or bounded rows has island i? */
static inline int islands_number(const perp_islands *s, int i, int part)
{
  return s->start[i + 1].first[part] - s->start[i].first[part];
}

/* A moving body of a contact or a row. */
static inline int islands_moving(const int body[2])
{
  return body[0] >= 0 ? body[0] : body[1];
}

/* Rows that are no contacts: of all islands before i, and of island i. */
static inline size_t islands_first_further(const perp_islands *s, int i)
{
  const island *p = &s->start[i];
  return (size_t)p->joint_rows + (size_t)p->first[BOUNDED] + (size_t)p->couple_rows;
}
static inline int islands_further(const perp_islands *s, int i)
{
  return (int)(islands_first_further(s, i + 1) - islands_first_further(s, i));
}

static inline size_t islands_first_row(const perp_islands *s, int i)
{
  return (size_t)s->r * (size_t)s->start[i].first[CONTACTS] + islands_first_further(s, i);
}

/* Contacts, joints, bounded rows and couples of all islands before. */
static inline int islands_first_group(const perp_islands *s, int i)
{
  const int *first = s->start[i].first;
  return first[CONTACTS] + first[JOINTS] + first[BOUNDED] + s->start[i].couples;
}

/* Room for the sub-matrices of all islands before. */
static inline int islands_first_sub(const perp_islands *s, int i)
{
  const int *first = s->start[i].first;
  return 2 * (first[CONTACTS] + first[BOUNDED] + s->start[i].couples) + s->start[i].joint_subs;
}

/* The block structure of island i in the shared arrays. */
static inline perp_blocks islands_blocks(const perp_islands *s, int i, bool soft)
{
  const island *p = &s->start[i];
  const size_t nvb = (size_t)s->model->nvb, square = nvb * nvb, body = (size_t)p->first[BODIES];
  const int nb = islands_number(s, i, BODIES), group = islands_first_group(s, i);
  const size_t rows = (size_t)s->r * (size_t)p->first[CONTACTS] + (size_t)p->first[BOUNDED] +
                      (size_t)p->couple_rows;
  const int sub = islands_first_sub(s, i);
  return (perp_blocks){
    .nv = nb * s->model->nvb,
    .m = s->r * islands_number(s, i, CONTACTS) + islands_further(s, i),
    .nb = nb,
    .nc = islands_first_group(s, i + 1) - group,
    .bptr = s->F.bptr + p->first[BODIES] + i,
    .mptr = s->F.mptr + p->first[BODIES] + i,
    .cptr = s->F.cptr + group + i,
    .jptr = s->F.jptr + group + i,
    .jblk = s->F.jblk + sub,
    .joff = s->F.joff + sub + i,
    .jgrp = s->F.jgrp + sub,
    .tptr = s->F.tptr + p->first[BODIES] + i,
    .tsub = s->F.tsub + sub,
    .M = s->F.M + square * body,
    .Minv = s->F.Minv + square * body,
    .J = s->F.J + 2 * nvb * rows + p->joint_numbers,
    .diag = s->body.diag + body,
    .flat = s->F.flat + nvb * body,
    .s = soft ? s->row.s + islands_first_row(s, i) : NULL,
  };
}

/* ---- islands_problem.c ---- */

/* The arrays of fixed size, of a workspace that begins with a perp_islands. */
void perp_islands_layout(void *ws, perp_arena *a);
/* islands.h */
perp_status perp_islands_room(perp_ctx *ctx, perp_islands *s, int n);
void perp_islands_apply(perp_islands *s, const perp_constrained *k, const perp_island_task *task,
                        double *f);
/* Memory for the matrices of eliminated islands. */
perp_status perp_islands_reserve_dense(perp_ctx *ctx, perp_islands *s);
/* impulse, couple, slip, fresh and none of task from the answers, on so many threads. */
void perp_islands_hand_back(perp_islands *s, const perp_constrained *k,
                            const perp_island_task *task, int threads);
/* which bodies belong together, and what of the task belongs to them. */
void perp_islands_partition(perp_islands *s, const perp_island_task *task);
/* islands_rows.c: everything of all islands but dense matrices, on up to `threads` threads. */
void perp_islands_fill(perp_islands *s, const perp_constrained *k, const perp_island_task *task,
                       int threads);
/* ---- islands_rows.c: elliptic cones of friction ---- */

/* Friction T of a contact with mu along g and ratio mu across it, w = n x g / |n x g|: with the map
 * S = 1 + (ratio - 1) w w' on tangents, T = S x with |x| <= mu lambda_n.  Most dissipation - T . u
 * = - x . S u makes x opposite to S u: a circular cone for the rows S t of tangents t.  Returns
 * ratio; 1: isotropic, w is not set. */
double perp_islands_anisotropy(const perp_model *model, const perp_eval *e, const perp_contact *x,
                               double w[3]);
/* y = (1 + (ratio - 1) w w') y */
PERP_INLINE void perp_islands_stretch(double ratio, const double w[3], double *y)
{
  const double more = (ratio - 1) * perp_dot(3, w, y);
  for (int i = 0; i < 3; i++) y[i] += more * w[i];
}

/* ---- islands_rows.c: couples against spinning and rolling ---- */

/* How many rows the couples of a contact have. */
static inline int islands_couple_count(const perp_islands *s, int contact)
{
  return (s->contact.torsion[contact] > 0) +
         (s->contact.rolling[contact] > 0) * (s->model->dim - 1);
}
/* task->couple of the contacts of island i, from its answer. */
void perp_islands_couples_back(const perp_islands *s, const perp_island_task *task, int i);

/* islands_problem.c: A_c = J_c H J_c' + S of island i, whose joints are eliminated: without any by
 * its blocks, else one response to each row of the whole system, by the KKT factor.  False: k says
 * why. */
bool perp_islands_columns(perp_islands *s, perp_constrained *k, int i);
/* islands_frozen.c, see islands.h */
void perp_islands_forget(perp_islands *s);
/* ---- islands_choice.c: which of several solutions ---- */

/* rule: PERP_CHOICE_* but NONE.  NULL where there is no memory. */
struct islands_choice *perp_islands_choice_create(perp_ctx *ctx, int rule);
void perp_islands_choice_destroy(struct islands_choice *c); /* NULL is fine */
/* Before island i is solved: x is its guess. */
void perp_islands_choice_guess(const lane *own, const perp_contact_island *problem, int r,
                               const double *x);
/* After it was solved with so much work (0: x is its guess), solution x, slip: counts whether its
 * impulses are unique, and whether another solution has another motion; x and slip become those of
 * the choice.  product: scratch [2 nv]. */
perp_status perp_islands_choose(perp_islands *s, lane *own, const perp_contact_island *problem,
                                const perp_island_task *task, island_known *is, double work,
                                double *x, double *slip, double *product);

/* islands_coulomb.c, see islands.h */
void perp_islands_coulomb(perp_islands *s, const perp_constrained *k, const perp_island_task *task);
/* islands_impact.c: impacts of island i by a law of one contact, before its problem is solved:
 * problem->b becomes what they leave.  False: there are none.  Else perp_islands_impact_add adds
 * their impulses to the solution x. */
bool perp_islands_impact(perp_islands *s, lane *own, const perp_island_task *task,
                         perp_contact_island *problem, int i);
void perp_islands_impact_add(const perp_islands *s, int i);
/* islands_frozen.c: the impulses x of all islands for the modes task->frozen.  False: k says why.
 */
bool perp_islands_freeze(perp_islands *s, perp_constrained *k, perp_island_task *task);

#endif
