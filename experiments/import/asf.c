/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading ASF skeletons and AMC motions (Acclaim; M. Schafer, ASF Skeleton File Format, 1994).
 *
 * A bone has a direction and a length, both as drawn in the world, a frame of axes and a subset of
 * three angles, its dofs.  The rotation of a bone in its parent is F M F', with F = R_3 R_2 R_1 of
 * the angles of `axis` in their order, and M the same product of its dofs in theirs: what comes
 * first turns first. */
#include "experiments/import/asf.h"

#include "experiments/base/numbers.h"
#include "models/geometry/kinematics.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ASF_WORD = 64, ASF_BONES = PERP_BVH_JOINTS / 2 - 1, ASF_DEEP = PERP_BVH_DEPTH - 2 };

static const double ASF_DEGREES = 180 / 3.14159265358979323846;

typedef struct asf_reader {
  perp_diag *diag;
  perp_source src;
  const char *s, *line; /* what is read next; where its line begins */
  int lines;            /* before it */
  bool failed;
} asf_reader;

typedef struct asf_bone {
  char name[ASF_WORD];
  double tip[3], length, axis[3];
  int order[3]; /* of `axis` */
  int dofs, dof[PERP_BVH_CHANNELS], limits, line;
  double lower[PERP_BVH_CHANNELS], upper[PERP_BVH_CHANNELS];
  int parent; /* -1: the root; -2: not in the hierarchy */
} asf_bone;

typedef struct asf_file {
  asf_reader in;
  double scale, angle; /* angle: degrees in a unit of angle */
  int n;
  asf_bone *bone; /* [n], bone[0] is the root */
  perp_pool pool;
} asf_file;

/* ---- words ---- */

__attribute__((format(printf, 3, 4))) static bool asf_wrong(asf_reader *in, const char *hint,
                                                            const char *fmt, ...)
{
  if (in->failed) return false;
  in->failed = true;
  va_list ap;
  va_start(ap, fmt);
  perp_diag_line(in->diag, &in->src, in->lines, 0, hint, fmt, ap);
  va_end(ap);
  return false;
}

static void asf_blanks(asf_reader *in)
{
  while (*in->s == ' ' || *in->s == '\t' || *in->s == '\r') in->s++;
}

/* To the next line that has something; false: the end of the file. */
static bool asf_next_line(asf_reader *in)
{
  for (;;) {
    asf_blanks(in);
    if (*in->s == '\0') return false;
    if (*in->s != '\n' && *in->s != '#') return true;
    in->s += strcspn(in->s, "\n");
    if (*in->s == '\n') in->s++, in->lines++;
    in->line = in->s;
  }
}

static void asf_skip_line(asf_reader *in)
{
  in->s += strcspn(in->s, "\n");
}

/* The next word of this line, "" at its end; parentheses and commas count as blanks. */
static const char *asf_word(asf_reader *in, char word[ASF_WORD])
{
  while (*in->s != '\0' && strchr(" \t\r(),", *in->s) != NULL) in->s++;
  const size_t n = *in->s == '#' ? 0 : strcspn(in->s, " \t\r\n(),");
  snprintf(word, ASF_WORD, "%.*s", (int)(n < ASF_WORD - 1 ? n : ASF_WORD - 1), in->s);
  for (char *at = word; *at != '\0'; at++)
    if ((unsigned char)*at <= ' ' || (unsigned char)*at > '~' || strchr("\"\\{}:,[]", *at) != NULL)
      *at = *at == ':' ? ':' : '_';
  in->s += n;
  return word;
}

static bool asf_number(asf_reader *in, const char *what, double *value)
{
  char word[ASF_WORD];
  const char *end = perp_real_at(asf_word(in, word), value);
  if (word[0] != '\0' && end != NULL && *end == '\0' && isfinite(*value) && fabs(*value) <= 1e9)
    return true;
  return asf_wrong(in, "a finite decimal number below 1e9", "%s: a number is required, got %s",
                   what, word[0] != '\0' ? word : "the end of the line");
}

static bool asf_numbers(asf_reader *in, const char *what, int n, double *value)
{
  for (int i = 0; i < n; i++)
    if (!asf_number(in, what, &value[i])) return false;
  return true;
}

/* "XYZ", each axis once; empty: that. */
static bool asf_order(asf_reader *in, const char *word, int order[3])
{
  for (int i = 0; i < 3; i++) order[i] = i;
  if (word[0] == '\0') return true;
  int seen = 0;
  for (int i = 0; i < 3 && strlen(word) == 3; i++) {
    order[i] = toupper((unsigned char)word[i]) - 'X';
    if (order[i] >= 0 && order[i] < 3) seen |= 1 << order[i];
  }
  return seen == 7 || asf_wrong(in, "XYZ, or another order of the three axes",
                                "axis: got %s for the order of rotations", word);
}

/* TX ... RZ as a channel, -1: something else; x of file is channel X. */
static int asf_channel(const char *word)
{
  const int kind = toupper((unsigned char)word[0]),
            axis = kind != '\0' ? toupper((unsigned char)word[1]) - 'X' : -1;
  if ((kind != 'T' && kind != 'R') || axis < 0 || axis > 2 || word[2] != '\0') return -1;
  return axis + (kind == 'R' ? PERP_BVH_RX : PERP_BVH_X);
}

static bool asf_dofs(asf_reader *in, asf_bone *bone, bool root)
{
  char word[ASF_WORD];
  for (bone->dofs = 0; asf_word(in, word)[0] != '\0';) {
    const int channel = asf_channel(word);
    if (channel < 0 || (!root && channel < PERP_BVH_RX))
      return asf_wrong(in, root ? "TX TY TZ RX RY RZ" : "rx, ry, rz: bones have constant lengths",
                       "%s cannot have the degree of freedom %s", bone->name, word);
    for (int dof = 0; dof < bone->dofs; dof++)
      if (bone->dof[dof] == channel)
        return asf_wrong(in, "each degree of freedom once", "%s has the degree of freedom %s twice",
                         bone->name, word);
    bone->dof[bone->dofs++] = channel;
  }
  return true;
}

/* ---- sections ---- */

static int asf_find(const asf_file *file, const char *name)
{
  for (int bone = 0; bone < file->n; bone++)
    if (strcmp(file->bone[bone].name, name) == 0) return bone;
  return -1;
}

static bool asf_units(asf_file *file)
{
  char word[ASF_WORD];
  asf_reader *in = &file->in;
  asf_word(in, word);
  if (strcasecmp(word, "length") == 0) {
    if (!asf_number(in, "length", &file->scale)) return false;
    return file->scale > 0 ||
           asf_wrong(in, "length 0.45", "the unit of length must be above 0: got %g", file->scale);
  }
  if (strcasecmp(word, "angle") == 0) {
    asf_word(in, word);
    file->angle = strncasecmp(word, "rad", 3) == 0 ? ASF_DEGREES : 1;
    return file->angle != 1 || strncasecmp(word, "deg", 3) == 0 ||
           asf_wrong(in, "deg or rad", "unknown unit of angles: %s", word);
  }
  asf_skip_line(in);
  return true;
}

static bool asf_root(asf_file *file)
{
  char word[ASF_WORD];
  asf_reader *in = &file->in;
  asf_bone *root = &file->bone[0];
  asf_word(in, word);
  if (strcasecmp(word, "order") == 0) return asf_dofs(in, root, true);
  if (strcasecmp(word, "axis") == 0) return asf_order(in, asf_word(in, word), root->order);
  if (strcasecmp(word, "position") == 0) return asf_numbers(in, "position", 3, root->tip);
  if (strcasecmp(word, "orientation") == 0) return asf_numbers(in, "orientation", 3, root->axis);
  asf_skip_line(in);
  return true;
}

static bool asf_limits(asf_reader *in, asf_bone *bone)
{
  asf_blanks(in);
  while (*in->s == '(') { /* as many as stand on this line */
    if (bone->limits == PERP_BVH_CHANNELS)
      return asf_wrong(in, NULL, "%s has more limits than degrees of freedom", bone->name);
    const char *close = strpbrk(in->s, ")\n");
    double bound[2];
    for (int i = 0; i < 2; i++) { /* "-inf" is allowed here */
      char word[ASF_WORD];
      const char *end = perp_real_at(asf_word(in, word), &bound[i]);
      if (word[0] == '\0' || end == NULL || *end != '\0' || isnan(bound[i]))
        return asf_wrong(in, "(lower upper)", "limits: a number is required, got '%s'", word);
    }
    if (close == NULL || *close != ')' || in->s > close)
      return asf_wrong(in, "(lower upper)", "limits of %s: a ) is missing", bone->name);
    in->s = close + 1;
    bone->lower[bone->limits] = bound[0];
    bone->upper[bone->limits++] = bound[1];
    asf_blanks(in);
  }
  return true;
}

static bool asf_bone_line(asf_file *file, asf_bone *bone)
{
  char word[ASF_WORD];
  asf_reader *in = &file->in;
  if (*in->s == '(') return asf_limits(in, bone);
  asf_word(in, word);
  if (strcasecmp(word, "name") == 0) {
    asf_word(in, word);
    if (word[0] == '\0' || asf_find(file, word) >= 0)
      return asf_wrong(in, "name each bone once, and none root",
                       word[0] == '\0' ? "a bone needs a name%s" : "there are two bones '%s'",
                       word);
    memcpy(bone->name, word, sizeof word);
    return true;
  }
  if (strcasecmp(word, "direction") == 0) return asf_numbers(in, "direction", 3, bone->tip);
  if (strcasecmp(word, "length") == 0)
    return asf_number(in, "length", &bone->length) &&
           (bone->length >= 0 ||
            asf_wrong(in, NULL, "the length of %s must not be negative", bone->name));
  if (strcasecmp(word, "axis") == 0)
    return asf_numbers(in, "axis", 3, bone->axis) && asf_order(in, asf_word(in, word), bone->order);
  if (strcasecmp(word, "dof") == 0) return asf_dofs(in, bone, false);
  if (strcasecmp(word, "limits") == 0) return asf_limits(in, bone);
  asf_skip_line(in); /* id, bodymass, cofmass, ... */
  return true;
}

static bool asf_bones(asf_file *file)
{
  char word[ASF_WORD];
  asf_reader *in = &file->in;
  if (strcasecmp(asf_word(in, word), "begin") != 0)
    return asf_wrong(in, "begin ... end around each bone", "begin is missing here: got %s", word);
  if (file->n == ASF_BONES)
    return asf_wrong(in, "remove fingers and other small bones",
                     "the file has more than %d bones, which is the limit", ASF_BONES);
  file->bone = perp_pool_grown(&file->pool, file->bone, file->n, sizeof *file->bone);
  asf_bone *bone = &file->bone[file->n];
  *bone = (asf_bone){ .parent = -2, .order = { 0, 1, 2 }, .line = in->lines };
  for (;;) {
    if (!asf_next_line(in) || *in->s == ':')
      return asf_wrong(in, "write end behind the bone", "end is missing here");
    const char *before = in->s;
    if (strcasecmp(asf_word(in, word), "end") == 0) break;
    in->s = before;
    if (!asf_bone_line(file, bone)) return false;
    if (asf_word(in, word)[0] != '\0') return asf_wrong(in, NULL, "%s is not allowed here", word);
  }
  if (bone->name[0] == '\0') return asf_wrong(in, "name NAME", "the bone has no name");
  const double size = sqrt(perp_dot(3, bone->tip, bone->tip));
  if (bone->length > 0 && !(size > 1e-9))
    return asf_wrong(in, "direction x y z", "the bone %s has no direction", bone->name);
  for (int i = 0; i < 3; i++) bone->tip[i] *= size > 0 ? bone->length / size : 0;
  file->n++;
  return true;
}

static bool asf_hierarchy(asf_file *file)
{
  char word[ASF_WORD];
  asf_reader *in = &file->in;
  asf_word(in, word);
  if (strcasecmp(word, "begin") == 0 || strcasecmp(word, "end") == 0) return true;
  const int parent = asf_find(file, word);
  if (parent < 0)
    return asf_wrong(in, "name bones of the section bonedata", "there is no bone %s", word);
  while (asf_word(in, word)[0] != '\0') {
    const int bone = asf_find(file, word);
    if (bone <= 0 || file->bone[bone].parent != -2)
      return asf_wrong(in, "each bone has one parent",
                       bone <= 0 ? "there is no bone %s" : "the bone %s has two parents", word);
    file->bone[bone].parent = parent;
  }
  return true;
}

static bool asf_sections(asf_file *file)
{
  static const struct {
    const char *name;
    bool (*line)(asf_file *);
  } sections[] = { { ":units", asf_units },
                   { ":root", asf_root },
                   { ":bonedata", asf_bones },
                   { ":hierarchy", asf_hierarchy } };
  asf_reader *in = &file->in;
  int now = -1, seen = 0;
  while (asf_next_line(in)) {
    char word[ASF_WORD];
    if (*in->s == ':') {
      asf_word(in, word);
      now = -1;
      for (int section = 0; section < 4; section++)
        if (strcasecmp(word, sections[section].name) == 0) now = section, seen |= 1 << section;
      asf_skip_line(in); /* :version 1.10, :name NAME */
      continue;
    }
    if (now < 0) { /* documentation */
      asf_skip_line(in);
      continue;
    }
    if (!sections[now].line(file)) return false;
    if (asf_word(in, word)[0] != '\0') return asf_wrong(in, NULL, "%s is not allowed here", word);
  }
  for (int section = 1; section < 4; section++)
    if ((seen & 1 << section) == 0)
      return asf_wrong(in, "an ASF file has the sections :units, :root, :bonedata and :hierarchy",
                       "the section %s is missing", sections[section].name);
  return file->n > 1 || asf_wrong(in, "begin ... end in :bonedata", "the skeleton has no bones");
}

/* ---- as joints ---- */

static void asf_frame(const asf_bone *bone, double angle, double q[4])
{
  q[0] = 1, q[1] = q[2] = q[3] = 0;
  for (int i = 0; i < 3; i++) {
    const double half = bone->axis[i] * angle / ASF_DEGREES / 2;
    double turn[4] = { cos(half), 0, 0, 0 }, whole[4];
    turn[1 + (bone->order[i] + 1) % 3] = sin(half); /* axes of poses: z, x, y of the file */
    perp_quat_product(turn, q, whole);
    memcpy(q, whole, sizeof whole);
  }
}

static void asf_joint(asf_file *file, int bone, int parent, perp_bvh *out)
{
  const asf_bone *from = &file->bone[bone];
  out->joint = perp_pool_grown(&out->pool, out->joint, out->n, sizeof *out->joint);
  perp_bvh_joint *joint = &out->joint[out->n];
  *joint = (perp_bvh_joint){ .name = perp_pool_strdup(&out->pool, from->name),
                             .parent = parent,
                             .line = from->line + 1,
                             .channels = from->dofs,
                             .first = out->channels };
  const double *offset = bone == 0 ? from->tip : file->bone[from->parent].tip;
  for (int c = 0; c < 3; c++) joint->offset[c] = bone > 0 && from->parent == 0 ? 0 : offset[c];
  int at = 0;
  for (int dof = 0; dof < from->dofs;
       dof++) /* places first, then rotations, the last one outermost */
    if (from->dof[dof] < PERP_BVH_RX) joint->channel[at++] = (perp_bvh_channel)from->dof[dof];
  for (int i = from->dofs - 1; i >= 0; i--)
    if (from->dof[i] >= PERP_BVH_RX) {
      joint->limited = from->limits == from->dofs;
      joint->lower[at] = from->lower[i] * file->angle;
      joint->upper[at] = from->upper[i] * file->angle;
      joint->channel[at++] = (perp_bvh_channel)from->dof[i];
    }
  asf_frame(from, file->angle, joint->frame);
  out->channels += from->dofs;
  out->n++;
}

/* Depth first, as a BVH file has them. */
static bool asf_tree(asf_file *file, perp_bvh *out)
{
  int stack[ASF_DEEP], next[ASF_DEEP], joint[ASF_DEEP], depth = 1, placed = 1;
  stack[0] = 0, next[0] = 1, joint[0] = 0;
  asf_joint(file, 0, -1, out);
  while (depth > 0) {
    const int bone = stack[depth - 1];
    int child = next[depth - 1];
    while (child < file->n && file->bone[child].parent != bone) child++;
    if (child == file->n) {
      if (next[depth - 1] == 1 && bone > 0) { /* nothing hangs on it: its tip */
        out->joint = perp_pool_grown(&out->pool, out->joint, out->n, sizeof *out->joint);
        perp_bvh_joint *end = &out->joint[out->n++];
        *end = (perp_bvh_joint){ .name = out->joint[joint[depth - 1]].name,
                                 .end = true,
                                 .parent = joint[depth - 1],
                                 .line = file->bone[bone].line + 1,
                                 .first = out->channels };
        memcpy(end->offset, file->bone[bone].tip, sizeof end->offset);
      }
      depth--;
      continue;
    }
    next[depth - 1] = child + 1;
    if (depth == ASF_DEEP)
      return asf_wrong(&file->in, NULL, "bones are nested deeper than %d, which is the limit",
                       ASF_DEEP);
    stack[depth] = child, next[depth] = 1, joint[depth] = out->n;
    asf_joint(file, child, joint[depth - 1], out);
    placed++;
    depth++;
  }
  for (int i = 1; i < file->n && placed < file->n; i++)
    if (file->bone[i].parent == -2)
      return asf_wrong(&file->in, "write it in :hierarchy, behind its parent",
                       "the bone %s has no parent", file->bone[i].name);
  return placed == file->n || asf_wrong(&file->in, "the hierarchy must be a tree from the root",
                                        "some bones do not hang on the root");
}

static bool asf_text(asf_reader *in, size_t size)
{
  return memchr(in->src.text, '\0', size) == NULL ||
         asf_wrong(in, NULL, "the file is not a text file");
}

bool perp_asf_read(perp_diag *diag, const char *name, const char *text, size_t size, perp_bvh *out)
{
  asf_file file = { .in = { .diag = diag, .src = { name, text }, .s = text, .line = text },
                    .scale = 1,
                    .angle = 1 };
  *out = (perp_bvh){ .frame_time = 1 };
  file.bone = perp_pool_grown(&file.pool, NULL, 0, sizeof *file.bone);
  file.bone[0] = (asf_bone){ .name = "root", .parent = -1, .order = { 0, 1, 2 } };
  file.n = 1;
  bool good = asf_text(&file.in, size) && asf_sections(&file) && asf_tree(&file, out);
  if (good) {
    /* the root turns in the order of its `axis`, whatever the order of its values */
    const asf_bone *root = &file.bone[0];
    perp_bvh_joint *joint = &out->joint[0];
    int at = 0;
    for (int channel = 0; channel < joint->channels; channel++)
      at += joint->channel[channel] < PERP_BVH_RX;
    for (int i = 2; i >= 0; i--)
      for (int dof = 0; dof < root->dofs; dof++)
        if (root->dof[dof] == PERP_BVH_RX + root->order[i])
          joint->channel[at++] = (perp_bvh_channel)root->dof[dof];
    joint->limited = false;
    out->angle = file.angle;
    out->order = perp_pool_alloc(&out->pool, (size_t)root->dofs + 1, sizeof *out->order);
    for (int i = 0; i < root->dofs; i++) out->order[i] = (perp_bvh_channel)root->dof[i];
    out->unit = file.scale != 1 ? 0.0254 / file.scale : 0;
    out->value = perp_pool_alloc(&out->pool, 1, sizeof *out->value);
  } else {
    perp_bvh_free(out);
  }
  perp_pool_free(&file.pool);
  return good;
}

/* ---- motions ---- */

typedef struct amc_reader {
  asf_reader in;
  perp_bvh *to;
  double angle;
  int frame;  /* the one that is read, -1: none yet */
  int number; /* that it has in the file */
  int seen;   /* joints of it */
  int want;   /* joints with channels */
  bool *done; /* [joints] */
  size_t room;
} amc_reader;

static bool amc_complete(amc_reader *reader)
{
  if (reader->frame < 0 || reader->seen == reader->want) return true;
  for (int joint = 0; joint < reader->to->n; joint++)
    if (reader->to->joint[joint].channels > 0 && !reader->done[joint])
      return asf_wrong(&reader->in, "write a line for each bone with degrees of freedom",
                       "frame %d has no line for %s", reader->number,
                       reader->to->joint[joint].name);
  return true;
}

static bool amc_frame(amc_reader *reader, const char *word)
{
  double number;
  perp_bvh *bvh = reader->to;
  const char *end = perp_real_at(word, &number);
  if (end == NULL || *end != '\0' || number != floor(number) || fabs(number) > 1e8)
    return asf_wrong(&reader->in, "the number of a frame", "a frame cannot have the number %s",
                     word);
  if (!amc_complete(reader)) return false;
  if (reader->frame >= 0 && (int)number != reader->number + 1)
    return asf_wrong(&reader->in, "frames follow each other; cut the file into two",
                     "frame %d follows frame %d", (int)number, reader->number);
  if (reader->frame + 1 == PERP_BVH_FRAMES)
    return asf_wrong(&reader->in, "cut the file", "the file has more than %d frames, the limit",
                     PERP_BVH_FRAMES);
  reader->number = (int)number;
  reader->frame++;
  reader->seen = 0;
  memset(reader->done, 0, (size_t)bvh->n * sizeof *reader->done);
  const size_t needed = (size_t)(reader->frame + 1) * (size_t)bvh->channels;
  if (needed > reader->room) {
    double *value = perp_pool_alloc(&bvh->pool, 2 * needed + 1, sizeof *value);
    memcpy(value, bvh->value, reader->room * sizeof *value);
    bvh->value = value;
    reader->room = 2 * needed;
  }
  return true;
}

/* "bone 1 2 3": values in the order of its dofs, that of the channels backwards for rotations. */
static bool amc_bone(amc_reader *reader, const char *name)
{
  perp_bvh *bvh = reader->to;
  asf_reader *in = &reader->in;
  const int j = perp_bvh_find(bvh, name);
  if (reader->frame < 0)
    return asf_wrong(in, "write the number of the frame before its bones",
                     "%s stands before the first frame", name);
  if (j < 0)
    return asf_wrong(in, "choose the skeleton of this motion", "the skeleton has no bone %s", name);
  if (reader->done[j])
    return asf_wrong(in, NULL, "frame %d has two lines for %s", reader->number, name);
  const perp_bvh_joint *joint = &bvh->joint[j];
  double *to = bvh->value + (size_t)reader->frame * (size_t)bvh->channels + joint->first;
  for (int channel = 0; channel < joint->channels; channel++) {
    double value;
    int at = joint->channels - 1 - channel;
    if (!asf_number(in, name, &value)) return false;
    for (int c = 0; j == 0 && c < joint->channels; c++)
      if (joint->channel[c] == bvh->order[channel]) at = c;
    to[at] = joint->channel[at] >= PERP_BVH_RX ? value * reader->angle : value;
  }
  char word[ASF_WORD];
  if (asf_word(in, word)[0] != '\0')
    return asf_wrong(in, NULL, "%s has only %d degrees of freedom", name, joint->channels);
  reader->done[j] = true;
  reader->seen += joint->channels > 0;
  return true;
}

static bool amc_lines(amc_reader *reader)
{
  asf_reader *in = &reader->in;
  char word[ASF_WORD];
  while (asf_next_line(in)) {
    asf_word(in, word);
    if (word[0] == ':') {
      if (strcasecmp(word, ":radians") == 0) reader->angle = ASF_DEGREES;
      if (strcasecmp(word, ":degrees") == 0) reader->angle = 1;
      asf_skip_line(in);
      continue;
    }
    const bool number = isdigit((unsigned char)word[0]) || word[0] == '-';
    if (number ? !amc_frame(reader, word) : !amc_bone(reader, word)) return false;
    if (asf_word(in, word)[0] != '\0') return asf_wrong(in, NULL, "%s is not allowed here", word);
  }
  return amc_complete(reader);
}

bool perp_amc_read(perp_diag *diag, const char *name, const char *text, size_t size,
                   double frame_time, perp_bvh *skeleton)
{
  amc_reader reader = { .in = { .diag = diag, .src = { name, text }, .s = text, .line = text },
                        .to = skeleton,
                        .angle = skeleton->angle > 0 ? skeleton->angle : 1,
                        .frame = -1 };
  reader.done = perp_xalloc((size_t)skeleton->n, sizeof *reader.done);
  for (int joint = 0; joint < skeleton->n; joint++)
    reader.want += skeleton->joint[joint].channels > 0;
  const bool good = asf_text(&reader.in, size) && amc_lines(&reader);
  skeleton->frames = good ? reader.frame + 1 : 0;
  skeleton->frame_time = frame_time;
  if (good) perp_bvh_placed(skeleton);
  free(reader.done);
  return good;
}
