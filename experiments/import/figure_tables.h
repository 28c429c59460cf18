/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is known of the segments of a person, by class: masses, limits of joints, names. */
#ifndef PERP_FIGURE_TABLES_H
#define PERP_FIGURE_TABLES_H

/* What is known of a kind of segment (de Leva 1996, table 4, male: P. de Leva, Adjustments to
 * Zatsiorsky-Seluyanov's segment inertia parameters, J. Biomechanics 29, 1223-1230). */
typedef struct perp_figure_class {
  const char *name;
  double mass;   /* fraction of the body's */
  double centre; /* of mass, from the end next to the root to the other one, as a fraction of the
                    length */
  double gyration[3]; /* radii about the sagittal, transverse and longitudinal axis, as fractions of
                         the length */
  double length;      /* fraction of the height where joints of skeletons are not the ends of the
                         segment; 0: they are */
  int heir;           /* the class that has its mass where a figure has no such segment; -1: none */
} perp_figure_class;
extern const perp_figure_class perp_figure_classes[];
enum { PERP_FIGURE_UNKNOWN = -1 };
enum {
  PERP_FIGURE_PELVIS,
  PERP_FIGURE_ABDOMEN,
  PERP_FIGURE_CHEST,
  PERP_FIGURE_HEAD,
  PERP_FIGURE_UPPER_ARM,
  PERP_FIGURE_FOREARM,
  PERP_FIGURE_HAND,
  PERP_FIGURE_THIGH,
  PERP_FIGURE_SHANK,
  PERP_FIGURE_FOOT,
  PERP_FIGURE_CLASSES
};
#define PERP_FIGURE_HEIGHT 1.741 /* m, and */
#define PERP_FIGURE_MASS   73.0  /* kg: the means of its subjects */

/* The class of a segment by the name of the joint that it begins at; side: 1 left, -1 right, 0
 * neither. */
int perp_figure_class_of(const char *name, int *side);

/* The class of a joint of unknown name on a segment of this class: fingers are parts of a hand. */
int perp_figure_part_of(const char *name, int class);

/* Limits of a joint by the class of the segment behind it, degrees: flexion, abduction, twist;
 * infinite: none. */
typedef struct perp_figure_limits {
  double flexion[2], abduction[2], twist[2];
} perp_figure_limits;
extern const perp_figure_limits perp_figure_limit[];

#endif
