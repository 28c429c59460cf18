/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is known of segments and joints of people, as data. */
#include "experiments/import/figure_tables.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* de Leva 1996, table 4, male.  Ends: trunk parts MIDH-OMPH, OMPH-XYPH, XYPH-CERV, head with neck
 * CERV-VERT, upper arm SJC-EJC, forearm EJC-WJC, hand WJC-MET3, thigh HJC-KJC, shank KJC-AJC, foot
 * HEEL-TTIP.  The table counts the centres of the trunk and the head from above: here 1 less that.
 * Lengths of the trunk and the head over the mean stature: joints of skeletons are not at these
 * landmarks. */
const perp_figure_class perp_figure_classes[] = {
  { "pelvis", 0.1117, 1 - 0.6115, { 0.615, 0.551, 0.587 }, 0.1457 / 1.741, PERP_FIGURE_ABDOMEN },
  { "abdomen", 0.1633, 1 - 0.4502, { 0.482, 0.383, 0.468 }, 0.2155 / 1.741, PERP_FIGURE_CHEST },
  { "chest", 0.1596, 1 - 0.5066, { 0.505, 0.320, 0.465 }, 0.2421 / 1.741, PERP_FIGURE_PELVIS },
  { "head", 0.0694, 1 - 0.5002, { 0.303, 0.315, 0.261 }, 0.2429 / 1.741, PERP_FIGURE_CHEST },
  { "upper arm", 0.0271, 0.5772, { 0.285, 0.269, 0.158 }, 0, PERP_FIGURE_CHEST },
  { "forearm", 0.0162, 0.4574, { 0.276, 0.265, 0.121 }, 0, PERP_FIGURE_UPPER_ARM },
  { "hand", 0.0061, 0.7900, { 0.628, 0.513, 0.401 }, 0, PERP_FIGURE_FOREARM },
  { "thigh", 0.1416, 0.4095, { 0.329, 0.329, 0.149 }, 0, PERP_FIGURE_PELVIS },
  { "shank", 0.0433, 0.4395, { 0.251, 0.246, 0.102 }, 0, PERP_FIGURE_THIGH },
  { "foot", 0.0137, 0.4415, { 0.257, 0.245, 0.124 }, 0, PERP_FIGURE_SHANK },
};

/* Normal ranges of motion, of people of all ages (The MSD Manual, Professional Edition, table
 * "Normal Values for Range of Motion of Joints", 2013), by the segment behind the joint, left; the
 * right is its mirror image.  Flexion moves thigh and forearm forwards, the shank backwards, the
 * toes up; hip: hyperextension 15; foot: plantar flexion 50, dorsiflexion 20, inversion 35,
 * eversion 25 (a twist about its length).  Ways to move that the table does not have, as bending a
 * knee sideways, are held within 5 degrees.  Joints that it does not have (spine, neck), what
 * depends on the shoulder blade (all of the upper arm: its twist comes from angles that go over to
 * the other side where it is raised beyond the horizontal) and on how the palms are drawn (wrist)
 * is not limited. */
#define FIGURE_FREE                                                                                \
  {                                                                                                \
    -HUGE_VAL, HUGE_VAL                                                                            \
  }
#define FIGURE_ANY                                                                                 \
  {                                                                                                \
    FIGURE_FREE, FIGURE_FREE, FIGURE_FREE                                                          \
  }
const perp_figure_limits perp_figure_limit[] = {
  [PERP_FIGURE_PELVIS] = FIGURE_ANY,
  [PERP_FIGURE_ABDOMEN] = FIGURE_ANY,
  [PERP_FIGURE_CHEST] = FIGURE_ANY,
  [PERP_FIGURE_HEAD] = FIGURE_ANY,
  [PERP_FIGURE_UPPER_ARM] = FIGURE_ANY,
  [PERP_FIGURE_FOREARM] = { { 0, 160 }, { -5, 5 }, { -90, 90 } },
  [PERP_FIGURE_HAND] = FIGURE_ANY,
  [PERP_FIGURE_THIGH] = { { -15, 125 }, { -45, 45 }, { -45, 45 } },
  [PERP_FIGURE_SHANK] = { { 0, 130 }, { -5, 5 }, { -5, 5 } },
  [PERP_FIGURE_FOOT] = { { -50, 20 }, { -5, 5 }, { -35, 25 } },
};

/* Names as they are seen in files, small letters without what is no letter; the first that a name
 * has in it counts. */
static const struct {
  const char *word;
  int class;
} figure_words[] = {
  { "forearm", PERP_FIGURE_FOREARM },   { "lowerarm", PERP_FIGURE_FOREARM },
  { "lowarm", PERP_FIGURE_FOREARM },    { "elbow", PERP_FIGURE_FOREARM },
  { "radius", PERP_FIGURE_FOREARM },    { "hand", PERP_FIGURE_HAND },
  { "wrist", PERP_FIGURE_HAND },        { "finger", PERP_FIGURE_HAND },
  { "thumb", PERP_FIGURE_HAND },        { "upperarm", PERP_FIGURE_UPPER_ARM },
  { "uparm", PERP_FIGURE_UPPER_ARM },   { "humerus", PERP_FIGURE_UPPER_ARM },
  { "collar", PERP_FIGURE_CHEST },      { "clav", PERP_FIGURE_CHEST },
  { "upleg", PERP_FIGURE_THIGH },       { "upperleg", PERP_FIGURE_THIGH },
  { "thigh", PERP_FIGURE_THIGH },       { "femur", PERP_FIGURE_THIGH },
  { "hipjoint", PERP_FIGURE_PELVIS },   { "lowerleg", PERP_FIGURE_SHANK },
  { "lowleg", PERP_FIGURE_SHANK },      { "shin", PERP_FIGURE_SHANK },
  { "shank", PERP_FIGURE_SHANK },       { "calf", PERP_FIGURE_SHANK },
  { "knee", PERP_FIGURE_SHANK },        { "tibia", PERP_FIGURE_SHANK },
  { "foot", PERP_FIGURE_FOOT },         { "ankle", PERP_FIGURE_FOOT },
  { "toe", PERP_FIGURE_FOOT },          { "head", PERP_FIGURE_HEAD },
  { "neck", PERP_FIGURE_HEAD },         { "skull", PERP_FIGURE_HEAD },
  { "lowerback", PERP_FIGURE_ABDOMEN }, { "abdomen", PERP_FIGURE_ABDOMEN },
  { "belly", PERP_FIGURE_ABDOMEN },     { "waist", PERP_FIGURE_ABDOMEN },
  { "spine1", PERP_FIGURE_CHEST },      { "spine2", PERP_FIGURE_CHEST },
  { "spine3", PERP_FIGURE_CHEST },      { "spine", PERP_FIGURE_ABDOMEN },
  { "chest", PERP_FIGURE_CHEST },       { "thorax", PERP_FIGURE_CHEST },
  { "torso", PERP_FIGURE_CHEST },       { "pelvis", PERP_FIGURE_PELVIS },
  { "hips", PERP_FIGURE_PELVIS },       { "buttock", PERP_FIGURE_PELVIS },
};

static bool figure_begins(const char *text, const char *with)
{
  return strncmp(text, with, strlen(with)) == 0;
}

int perp_figure_class_of(const char *name, int *side)
{
  char s[101];
  size_t n = 0;
  for (const char *at = name; *at != '\0' && n < sizeof s - 1; at++)
    if (isalnum((unsigned char)*at)) s[n++] = (char)tolower((unsigned char)*at);
  s[n] = '\0';
  /* "LeftFoot", "Foot_L", "lFoot" */
  const bool small = name[0] != '\0' && isupper((unsigned char)name[1]);
  const char last = n > 0 ? s[n - 1] : '\0',
             before = strlen(name) > 1 ? name[strlen(name) - 2] : '\0';
  const bool tail = before == '_' || before == '.' || before == '-' || before == ' ';
  *side = strstr(s, "left") != NULL || ((name[0] == 'l' || name[0] == 'L') && small) ||
                  (tail && last == 'l')
              ? 1
          : strstr(s, "right") != NULL || ((name[0] == 'r' || name[0] == 'R') && small) ||
                  (tail && last == 'r')
              ? -1
              : 0;
  for (size_t i = 0; i < sizeof figure_words / sizeof *figure_words; i++)
    if (strstr(s, figure_words[i].word) != NULL) return figure_words[i].class;
  if (*side == 0 && strcmp(s, "hip") == 0) return PERP_FIGURE_PELVIS;
  /* words that are parts of other words stand alone, with a side */
  const char *bare = figure_begins(s, "left")    ? s + 4
                     : figure_begins(s, "right") ? s + 5
                     : small && *side != 0       ? s + 1
                                                 : s;
  if (*side == 0) return PERP_FIGURE_UNKNOWN;
  if (figure_begins(bare, "arm") || figure_begins(bare, "shoulder"))
    return figure_begins(bare, "arm") ? PERP_FIGURE_UPPER_ARM : PERP_FIGURE_CHEST;
  if (figure_begins(bare, "hip")) return PERP_FIGURE_THIGH;
  if (figure_begins(bare, "leg")) return PERP_FIGURE_SHANK;
  return PERP_FIGURE_UNKNOWN;
}

int perp_figure_part_of(const char *name, int class)
{
  static const char *const words[] = { "index", "middle", "pinky",   "ring",   "little",
                                       "palm",  "carpal", "phalanx", "phalang" };
  if (class != PERP_FIGURE_HAND) return PERP_FIGURE_UNKNOWN;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcasestr(name, words[i]) != NULL) return class;
  return PERP_FIGURE_UNKNOWN;
}
