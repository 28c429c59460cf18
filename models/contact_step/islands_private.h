/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside islands.c and islands_rows.c: the arrays that all islands share. */
#ifndef PERP_ISLANDS_IMPL_H
#define PERP_ISLANDS_IMPL_H

#include "models/contact_step/islands.h"

enum { JOINT_ROWS = 6 };

/* what one thread has of its own */
typedef struct lane {
  perp_ctx ctx;
  void *ws;
  perp_contact_count count;
} lane;

/* where the parts of an island start in the arrays shared by all */
typedef struct island {
  int contact, body, joint; /* in order, bodies, joints */
  int bounded;              /* in bounded */
  int joint_rows;           /* free rows of all islands before */
  size_t dense;             /* in A */
  bool eliminate;
  bool solved; /* its guess was not the answer */
  bool none;   /* it was shown to have no solution */
} island;

struct perp_islands {
  const perp_model *model;
  const perp_contact_desc *kind;
  int r; /* rows of a contact */
  bool rows;
  int threads;
  lane *lanes;
  perp_contact_count count;
  bool observed;
  /* fixed size */
  int *joint_root;         /* [bodies] representative by joints alone */
  bool *jointed;           /* [bodies] has a joint */
  unsigned char *diag;     /* [bodies] by island: is M_b^-1 diagonal? */
  double *mass;            /* [bodies] kg */
  int *mass_place;         /* [bodies] whose M_b stands there, by island; -1: none */
  int *parent;             /* [bodies] */
  int *island_of;          /* [bodies] island of a root, -1: no contacts */
  signed char *touched;    /* [bodies] 0: has a contact or a bounded row, else -1 */
  int *local;              /* [bodies] place in its island */
  int *bodies;             /* [bodies] by island */
  int *joints;             /* [joints] by island */
  int *bounded;            /* [rows] bounded rows by island */
  island *start;           /* [bodies + 1] */
  int *cursor;             /* [4 (bodies + 1)] */
  int *bptr, *mptr, *tptr; /* [2 bodies + 1] */
  double *M, *Minv, *flat; /* by island, see blocks.h */
  double *v_star;          /* [nv] M^-1 f, for joints as rows */
  double *twist_star;      /* [6 bodies] of it */
  double *f, *a;           /* [nv] response */
  double *zero, *lambda;   /* [m] */
  perp_arena arena;
  int n_islands;
  int max_bounded; /* bounded rows at most */
  /* by the number of contacts */
  int cap;
  double *scratch;   /* [4 n] */
  int *part, *owner; /* [n] contacts that take part, in their order, and a moving body of each */
  int *order;        /* [n] contact at each place */
  double *frame;     /* [6 n] t1, t2 */
  double *b, *x, *s, *diagonal; /* [r n + m + bounded], the last of A */
  double *mu, *slip;            /* [n] */
  double *restitution, *least;  /* [n] and the least impulse of decompression */
  double *drag;                 /* [2 n] friction of sliding contacts, see contact.h */
  double *b_decompression;      /* [(r + 1) n + m + bounded] */
  double *x_decompression;      /* [r n + m + bounded] */
  double *row_lo, *row_hi;      /* [m + bounded] of the rows that are no contacts */
  double *row_lo_decompression, *row_hi_decompression; /* [m + bounded] */
  double *product;                                     /* [2 nv] by island */
  double *J;
  int *cptr, *jptr, *joff, *jblk, *jgrp, *tsub;
  perp_arena grown;
  double *A; /* eliminated islands */
  size_t cap_A;
};

static inline bool takes_part(const perp_island_task *task, int i)
{
  return task->kept == NULL || task->kept[i];
}

/* a moving body of the contact */
static inline int body_of(const perp_contact *x)
{
  return x->body_a >= 0 ? x->body_a : x->body_b;
}

static inline int body_of_row(const perp_island_row *row)
{
  return row->body[0] >= 0 ? row->body[0] : row->body[1];
}

/* of the rows that are no contacts */
static inline size_t first_further(const perp_islands *s, int i)
{
  return (size_t)s->start[i].joint_rows + (size_t)s->start[i].bounded;
}

static inline size_t first_row(const perp_islands *s, int i)
{
  return (size_t)s->r * (size_t)s->start[i].contact + first_further(s, i);
}

/* contacts, joints and bounded rows of all islands before */
static inline int first_group(const perp_islands *s, int i)
{
  return s->start[i].contact + s->start[i].joint + s->start[i].bounded;
}

static inline int further_rows(const perp_islands *s, int i)
{
  return (int)(first_further(s, i + 1) - first_further(s, i));
}

/* the block structure of island i in the shared arrays */
static inline perp_blocks blocks_of(const perp_islands *s, int i, bool soft)
{
  const island *p = &s->start[i], *next = p + 1;
  const perp_model *model = s->model;
  const int nb = next->body - p->body, nc = next->contact - p->contact;
  const int group = first_group(s, i);
  const size_t square = (size_t)model->nvb * (size_t)model->nvb;
  return (perp_blocks){
    .nv = nb * model->nvb,
    .m = s->r * nc + further_rows(s, i),
    .nb = nb,
    .nc = first_group(s, i + 1) - group,
    .bptr = s->bptr + p->body + i,
    .mptr = s->mptr + p->body + i,
    .cptr = s->cptr + group + i,
    .jptr = s->jptr + group + i,
    .jblk = s->jblk + 2 * group,
    .joff = s->joff + 2 * group + i,
    .jgrp = s->jgrp + 2 * group,
    .tptr = s->tptr + p->body + i,
    .tsub = s->tsub + 2 * group,
    .M = s->M + square * (size_t)p->body,
    .Minv = s->Minv + square * (size_t)p->body,
    .J = s->J + (size_t)(2 * model->nvb) * ((size_t)s->r * (size_t)p->contact +
                                            JOINT_ROWS * (size_t)p->joint + (size_t)p->bounded),
    .diag = s->diag + p->body,
    .flat = s->flat + (size_t)model->nvb * (size_t)p->body,
    .s = soft ? s->s + first_row(s, i) : NULL,
  };
}

/* Halfway between the two surfaces: impulse and counter-impulse then have one line of action. */
static inline void perp_contact_middle(const perp_contact *x, double p[3])
{
  for (int i = 0; i < 3; i++) p[i] = 0.5 * (x->p_a[i] + x->p_b[i]);
}

/* islands_rows.c: everything of all islands but dense matrices, on up to `threads` threads. */
void perp_islands_fill(perp_islands *s, const perp_constrained *k, const perp_island_task *task,
                       int threads);
/* A_c = J_c H J_c' + S of island i, whose joints are eliminated: without any by its blocks, else one response to each
 * row of the whole system, by the KKT factor.  False: k says why. */
bool perp_islands_columns(perp_islands *s, perp_constrained *k, int i);

#endif
