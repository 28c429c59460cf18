/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/scenes/keys.h"

#include "models/geometry/kinematics.h"

#include "experiments/base/messages.h"
#include "experiments/base/numbers.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* how a joint starts, and the axes of a drive: the values of their enumerations */
const char *const perp_scene_joint_starts[] = { "holds", "zero", "violates", NULL };
const char *const perp_scene_drive_axes[] = { "a",      "b", "along", "node", "c",
                                              "across", "d", "e",     NULL };

enum { MOST_ENTRIES = 1000000, MOST_POINTS = 1000000 };

void perp_scene_refused(perp_scene_reader *reader, const perp_node *at)
{
  perp_diag_ctx(reader->diag, at, 0, reader->ctx);
}

void perp_scene_unknown(perp_diag *diag, const perp_node *at, const char *what, const char *word,
                        const char *const *names, int n)
{
  const char *near = perp_closest(word, names, n);
  perp_text hint = { 0 };
  if (near != NULL)
    perp_text_add(&hint, "did you mean '%s'?", near);
  else {
    perp_text_add(&hint, "known: ");
    for (int i = 0; i < n && hint.n < 160; i++)
      perp_text_add(&hint, "%s%s", i > 0 ? ", " : "", names[i]);
    if (hint.n >= 160) perp_text_add(&hint, ", ...");
  }
  perp_diag_error(diag, at, 0, n > 0 ? hint.s : NULL, "unknown %s '%s'", what, word);
  perp_text_free(&hint);
}

/* ---- parts by their names ---- */

static bool keys_number_text(const char *text)
{
  return text[0] != '\0' && strspn(text, "0123456789") == strlen(text);
}

int perp_named_add(perp_scene_reader *reader, perp_named *named, const char *what, const char *name,
                   const perp_node *at)
{
  const int part = named->n;
  named->at = perp_pool_grown(reader->pool, named->at, part, sizeof *named->at);
  named->at[part] = at;
  if (name != NULL && (keys_number_text(name) || strcmp(name, "world") == 0 || name[0] == '\0')) {
    perp_diag_error(reader->diag, at, 0, "begin the name with a letter",
                    "'%s' cannot be the name of a %s", name, what);
    return -1;
  }
  if (name != NULL) {
    const int before = named->names.n,
              k = perp_names_index(reader->pool, &named->names,
                                   perp_pool_strdup(reader->pool, name), -1);
    if (k < before) {
      perp_diag_error(reader->diag, at, 0, "names of repeated entries need an index, as in link{i}",
                      "the name of the %s '%s' is already used (line %d)", what, name,
                      named->at[named->index[k]]->line + 1);
      return -1;
    }
    named->index = perp_pool_grown(reader->pool, named->index, k, sizeof *named->index);
    named->index[k] = part;
  }
  return named->n++;
}

int perp_named_find(perp_scene_reader *reader, perp_named *named, const char *what, bool world,
                    const perp_node *node)
{
  const char *name = perp_values_text(&reader->values, node);
  if (name == NULL) return -2;
  if (world && strcmp(name, "world") == 0) return PERP_WORLD;
  if (keys_number_text(name)) {
    int64_t i = 0;
    if (perp_parse_int(NULL, name, 0, INT32_MAX, &i) == PERP_OK && i < named->n) return (int)i;
    perp_diag_error(reader->diag, node, 0, NULL, "there is no %s %s: there are %d, numbered from 0",
                    what, name, named->n);
    return -2;
  }
  const int k = perp_names_index(reader->pool, &named->names, name, named->names.n);
  if (k >= 0) return named->index[k];
  const char *near = perp_closest(name, named->names.text,
                                  named->names.n < 500 ? named->names.n : 500);
  perp_text hint = { 0 };
  if (near != NULL)
    perp_text_add(&hint, "did you mean '%s'?", near);
  else if (named->names.n > 0)
    perp_text_add(&hint, "the names range from '%s' to '%s'", named->names.text[0],
                  named->names.text[named->names.n - 1]);
  perp_diag_error(reader->diag, node, 0, hint.s, "there is no %s '%s'", what, name);
  perp_text_free(&hint);
  return -2;
}

/* ---- values ---- */

bool perp_keys_vector(perp_scene_reader *reader, const perp_node *node, const char *unit, int n,
                      int missing, double *x)
{
  if (node->type != PERP_NODE_LIST || node->n > n || node->n < n - missing) {
    PERP_SCENE_WRONG(reader, node, "a list of %d numbers is required here", n - missing);
    return false;
  }
  for (int i = 0; i < node->n; i++)
    if (!perp_values_number(&reader->values, node->item[i], unit, &x[i])) return false;
  return true;
}

bool perp_keys_spatial(perp_scene_reader *reader, const perp_node *node, const char *unit,
                       double x[3])
{
  if (!reader->section) return perp_keys_vector(reader, node, unit, 3, reader->dim == 2, x);
  double p[3];
  if (!perp_keys_vector(reader, node, unit, 3, 0, p)) return false;
  x[0] = p[0], x[1] = p[2], x[2] = 0;
  return true;
}

bool perp_keys_choice(perp_scene_reader *reader, const perp_node *node, const char *const *names,
                      int *x)
{
  const char *text = perp_values_text(&reader->values, node);
  if (text == NULL) return false;
  int n = 0;
  for (; names[n] != NULL; n++)
    if (strcmp(names[n], text) == 0) return *x = n, true;
  perp_scene_unknown(reader->diag, node, "value", text, names, n);
  return false;
}

struct points {
  int width, n;
  double *x;
  bool good;
};

static void keys_point(perp_scene_reader *reader, const perp_node *node, struct points *points)
{
  double x[3];
  if (points->width == 2 && reader->section)
    points->good = points->good && perp_keys_spatial(reader, node, "m", x);
  else
    points->good = points->good && perp_keys_vector(reader, node, "m", points->width, 0, x);
  if (points->good && points->n == MOST_POINTS) {
    PERP_SCENE_WRONG(reader, node, "the list has more than %d points, which is the limit",
                     MOST_POINTS);
    points->good = false;
  }
  if (!points->good) return;
  points->x = perp_pool_grown(reader->pool, points->x, points->n, 3 * sizeof *points->x);
  memcpy(points->x + points->width * points->n++, x, (size_t)points->width * sizeof *x);
}

static void keys_point_entry(perp_scene_reader *reader, const perp_node *entry, void *user)
{
  static const perp_key keys[] = { PERP_KEY_SPECIAL("point"), PERP_KEYS_ENTRY, PERP_KEYS_END };
  struct points *points = user;
  points->good = points->good && perp_keys_read(reader, entry, "points", keys, NULL);
  const perp_node *point = perp_tree_get(entry, "point");
  if (point != NULL)
    keys_point(reader, point, points);
  else {
    PERP_SCENE_WRONG(reader, entry, "'point' is missing here");
    points->good = false;
  }
}

bool perp_keys_points(perp_scene_reader *reader, const perp_node *node, int width, double **points,
                      int *n)
{
  struct points p = { .width = width, .good = true };
  if (node->type != PERP_NODE_LIST) {
    PERP_SCENE_WRONG(reader, node, "a list of points is required here");
    return false;
  }
  const int before = reader->diag->errors;
  for (int i = 0; i < node->n && p.good; i++)
    if (node->item[i]->type == PERP_NODE_MAP)
      perp_entry(reader, node->item[i], keys_point_entry, &p);
    else
      keys_point(reader, node->item[i], &p);
  *points = p.x;
  *n = p.n;
  return p.good && reader->diag->errors == before;
}

/* Of any length but 0: it is made one of length 1. */
static bool keys_quaternion(perp_scene_reader *reader, const perp_node *node, double q[4])
{
  if (!perp_keys_vector(reader, node, "", 4, 0, q)) return false;
  const double length = hypot(hypot(q[0], q[1]), hypot(q[2], q[3]));
  if (length > 1e-50 && isfinite(length)) return true;
  perp_diag_error(reader->diag, node, 0, "write [1, 0, 0, 0], or leave it out, for no rotation",
                  "a quaternion of length %g is no orientation", length);
  return false;
}

static bool keys_value(perp_scene_reader *reader, const perp_node *node, const perp_key *key,
                       void *to)
{
  char *at = (char *)to + key->at;
  const char *text;
  int which = 0;
  if (key->signal != 0)
    return reader->signals(reader, node, key->unit, key->n, reader->dim == 2 && key->n == 3,
                           (double *)(void *)at,
                           (perp_signal_ref *)(void *)((char *)to + key->signal));
  switch (key->type) {
  case PERP_KEY_NUMBER:
    return perp_values_number(&reader->values, node, key->unit, (double *)(void *)at);
  case PERP_KEY_VECTOR:
    if (key->n == 4) return keys_quaternion(reader, node, (double *)(void *)at);
    return key->n == 3 ? perp_keys_spatial(reader, node, key->unit, (double *)(void *)at)
                       : perp_keys_vector(reader, node, key->unit, key->n, 0, (double *)(void *)at);
  case PERP_KEY_WHOLE:
    return perp_values_whole(&reader->values, node, 0, INT32_MAX, (int *)(void *)at);
  case PERP_KEY_BOOL:
    return perp_values_true(&reader->values, node, (bool *)at);
  case PERP_KEY_TEXT:
    text = perp_values_text(&reader->values, node);
    if (text != NULL) memcpy(at, &text, sizeof text);
    return text != NULL;
  case PERP_KEY_CHOICE:
    if (!perp_keys_choice(reader, node, key->names, &which)) return false;
    memcpy(at, &which, sizeof which);
    return true;
  case PERP_KEY_BODY:
  case PERP_KEY_JOINT:
    which = key->type == PERP_KEY_BODY
                ? perp_named_find(reader, &reader->bodies, "body", true, node)
                : perp_named_find(reader, &reader->joints, "joint", false, node);
    memcpy(at, &which, sizeof which);
    return which > -2;
  case PERP_KEY_OTHER:
  case PERP_KEY_END:
    break;
  }
  return true;
}

/* Key i is a piece of a text that wants quotes; of several pieces the first one tells. */
static bool keys_split(perp_scene_reader *reader, const perp_node *map, int i, const char *whose)
{
  const int of = perp_tree_split(map, i);
  if (of < 0 || of == i) return false;
  if (of < i - 1) return true;
  perp_text hint = { 0 };
  perp_text_add(&hint, "a text with a comma needs quotes: %s: \"%s", map->key[of]->text,
                map->item[of]->text);
  for (int k = i; k < map->n && perp_tree_split(map, k) == of; k++)
    perp_text_add(&hint, ", %s", map->key[k]->text);
  perp_text_add(&hint, "\"");
  perp_diag_error(reader->diag, map->key[i], 0, hint.s, "unknown %s '%s'", whose,
                  map->key[i]->text);
  perp_text_free(&hint);
  return true;
}

bool perp_keys_read(perp_scene_reader *reader, const perp_node *map, const char *what,
                    const perp_key *keys, void *to)
{
  bool good = true;
  if (map->type != PERP_NODE_MAP) {
    PERP_SCENE_WRONG(reader, map, "%s must be a map of key: value", what);
    return false;
  }
  for (int i = 0; i < map->n; i++) {
    const char *name = map->key[i]->text;
    const perp_key *key = keys;
    while (key->type != PERP_KEY_END && strcmp(key->name, name) != 0) key++;
    if (key->type != PERP_KEY_END) {
      if (to != NULL) good = keys_value(reader, map->item[i], key, to) && good;
      continue;
    }
    const char *names[64];
    int n = 0;
    for (key = keys; key->type != PERP_KEY_END && n < 60; key++) names[n++] = key->name;
    char whose[80];
    snprintf(whose, sizeof whose, "key of %s:", what);
    if (!keys_split(reader, map, i, whose))
      perp_scene_unknown(reader->diag, map->key[i], whose, name, names, n);
    good = false;
  }
  return good;
}

/* ---- repetition ---- */

bool perp_scene_let(perp_scene_reader *reader, const perp_node *map)
{
  if (map->type != PERP_NODE_MAP) {
    PERP_SCENE_WRONG(reader, map, "let must be a map of name: value");
    return false;
  }
  for (int i = 0; i < map->n; i++) {
    double x;
    if (!perp_values_number(&reader->values, map->item[i], NULL, &x)) return false;
    const perp_value value = { PERP_VALUE_NUMBER, x, NULL };
    if (!perp_values_add(&reader->values, map->key[i], map->key[i]->text,
                         perp_values_unit(&reader->values, map->item[i]), value, NULL))
      return false;
  }
  return true;
}

struct rounds {
  const perp_node *entry, *repeat;
  perp_entry_fn *each;
  void *user;
  int errors; /* before */
};

/* All rounds of the indices from the k-th on.  all: rounds of all indices before, as many as they
 * are where no range depends on another one; they are refused before the first is made. */
static void keys_round(perp_scene_reader *reader, const struct rounds *rounds, int k, double all)
{
  const int known = reader->values.n;
  double first, last;
  if (reader->diag->errors > rounds->errors) return; /* the first error of an entry says it all */
  if (rounds->repeat != NULL && k < rounds->repeat->n) {
    const perp_node *key = rounds->repeat->key[k], *range = rounds->repeat->item[k];
    if (!perp_values_range(&reader->values, range, &first, &last)) return;
    if (last < first) return;
    all *= last - first + 1;
    if (all > MOST_ENTRIES) {
      perp_diag_error(reader->diag, range, 0, NULL,
                      "%.0f repetitions: a scene has at most %d entries", all, MOST_ENTRIES);
      return;
    }
    for (double i = first; i <= last && reader->diag->errors == rounds->errors; i++) {
      if (!perp_values_add(&reader->values, key, key->text, "",
                           (perp_value){ PERP_VALUE_NUMBER, i, NULL }, NULL))
        return;
      if (++reader->entries > MOST_ENTRIES) {
        PERP_SCENE_WRONG(reader, range, "a scene has at most %d entries", MOST_ENTRIES);
        return;
      }
      keys_round(reader, rounds, k + 1, i == first ? all : 1);
      perp_values_drop(&reader->values, known);
    }
    return;
  }
  const perp_node *let = perp_tree_get(rounds->entry, "let"),
                  *when = perp_tree_get(rounds->entry, "when");
  bool holds = true;
  const bool good = (let == NULL || perp_scene_let(reader, let)) &&
                    (when == NULL || perp_values_true(&reader->values, when, &holds));
  if (good && holds) rounds->each(reader, rounds->entry, rounds->user);
  perp_values_drop(&reader->values, known);
}

void perp_entry(perp_scene_reader *reader, const perp_node *map, perp_entry_fn *entry, void *user)
{
  const struct rounds rounds = { map, perp_tree_get(map, "repeat"), entry, user,
                                 reader->diag->errors };
  if (rounds.repeat != NULL && rounds.repeat->type != PERP_NODE_MAP)
    perp_diag_error(reader->diag, rounds.repeat, 0, "repeat: { i: 0..n-1 }",
                    "repeat must be a map of index: range");
  else
    keys_round(reader, &rounds, 0, 1);
}

void perp_entries(perp_scene_reader *reader, const perp_node *list, const char *section,
                  perp_entry_fn *entry, void *user)
{
  if (list == NULL || (list->type == PERP_NODE_SCALAR && list->text[0] == '\0')) return;
  if (list->type != PERP_NODE_LIST) {
    perp_diag_error(reader->diag, list, 0, "each entry begins with '- '", "%s must be a list",
                    section);
    return;
  }
  for (int i = 0; i < list->n; i++)
    if (list->item[i]->type != PERP_NODE_MAP)
      PERP_SCENE_WRONG(reader, list->item[i], "an entry of %s must be a map of key: value",
                       section);
    else
      perp_entry(reader, list->item[i], entry, user);
}

/* ---- orientations as turns, and rates of turning: in space, in the plane, of a section of space
 * ---- */

struct keys_turn {
  double axis[3], angle;
};
static const perp_key keys_of_turn[] = { PERP_KEY_REALS(struct keys_turn, axis, "axis", "", 3),
                                         PERP_KEY_REAL(struct keys_turn, angle, "angle", "rad"),
                                         PERP_KEYS_END };

/* The rotation by an angle about an axis, after the one of quat; of a section, its angle. */
static bool keys_turn_once(perp_scene_reader *reader, const perp_node *node, double quat[4],
                           double *angle)
{
  struct keys_turn turn = { 0 };
  const bool section = reader->section;
  reader->section = false; /* the axis is one of space */
  const bool good = perp_keys_read(reader, node, "turn", keys_of_turn, &turn);
  reader->section = section;
  if (!good) return false;
  const double length = sqrt(perp_dot(3, turn.axis, turn.axis));
  if (!(length > 0)) {
    PERP_SCENE_WRONG(reader, node, "'turn' needs an 'axis' that is not zero");
    return false;
  }
  if (section && turn.angle != 0 && (turn.axis[0] != 0 || turn.axis[2] != 0)) {
    perp_diag_error(reader->diag, node, 0, "axis: [0, 1, 0]",
                    "a section (dim: 2) rotates about y only");
    return false;
  }
  if (section) *angle -= turn.angle * turn.axis[1] / length;
  double by[4] = { cos(turn.angle / 2) }, q[4];
  for (int i = 0; i < 3; i++) by[1 + i] = sin(turn.angle / 2) * turn.axis[i] / length;
  memcpy(q, quat, sizeof q);
  quat[0] = by[0] * q[0] - by[1] * q[1] - by[2] * q[2] - by[3] * q[3];
  quat[1] = by[0] * q[1] + by[1] * q[0] + by[2] * q[3] - by[3] * q[2];
  quat[2] = by[0] * q[2] - by[1] * q[3] + by[2] * q[0] + by[3] * q[1];
  quat[3] = by[0] * q[3] + by[1] * q[2] - by[2] * q[1] + by[3] * q[0];
  return true;
}

bool perp_scene_read_turn(perp_scene_reader *reader, const perp_node *node, double quat[4],
                          double *angle)
{
  const bool list = node->type == PERP_NODE_LIST;
  double q[4] = { 1, 0, 0, 0 };
  for (int i = 0; i < (list ? node->n : 1); i++)
    if (!keys_turn_once(reader, list ? node->item[i] : node, q, angle)) return false;
  if (reader->dim == 3) memcpy(quat, q, sizeof q);
  return true;
}

/* The rate of turning: a vector of the body, in the plane a number, of a section minus that about
 * y. */
bool perp_scene_read_rate(perp_scene_reader *reader, const perp_node *node, double w[3])
{
  double x[3];
  if (reader->dim == 2 && !(reader->section && node->type == PERP_NODE_LIST))
    return perp_values_number(&reader->values, node, "rad/s", &w[2]);
  if (!perp_keys_vector(reader, node, "rad/s", 3, 0, x)) return false;
  if (reader->dim == 3)
    memcpy(w, x, sizeof x);
  else
    w[2] = 0 - x[1];
  return true;
}

/* ---- kinds of entries ---- */

static bool keys_word(const char *list, const char *word, bool *may)
{
  const size_t n = strlen(word);
  for (const char *at = list; *at != '\0'; at += strcspn(at, " "), at += *at == ' ') {
    *may = *at == '?';
    at += *may;
    if (strncmp(at, word, n) == 0 && (at[n] == ' ' || at[n] == '\0')) return true;
  }
  return false;
}

bool perp_scene_fit(perp_scene_reader *reader, const perp_node *entry, const perp_key *keys,
                    const char *kind, const char *wants)
{
  bool may = false;
  for (const perp_key *key = keys; key->type != PERP_KEY_END; key++) {
    const bool there = perp_tree_get(entry, key->name) != NULL,
               known = keys_word(wants, key->name, &may);
    if (strcmp(key->name, "repeat") == 0 || strcmp(key->name, "let") == 0 ||
        strcmp(key->name, "when") == 0)
      continue;
    if (strcmp(key->name, "kind") == 0) {
      if (there) continue;
      PERP_SCENE_WRONG(reader, entry, "'kind' is missing here");
      return false;
    }
    if (there && !known) {
      PERP_SCENE_WRONG(reader, perp_tree_get(entry, key->name),
                       "the key '%s' is not allowed with 'kind: %s'", key->name, kind);
      return false;
    }
    if (!there && known && !may) {
      PERP_SCENE_WRONG(reader, entry, "'kind: %s' needs the key '%s'", kind, key->name);
      return false;
    }
  }
  return true;
}
