/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading scene files: YAML, what they include, their parameters; the descriptor of a scene that
 * was read. */
#include "experiments/scenes/build.h"
#include "experiments/scenes/keys.h"
#include "experiments/base/files.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEEPEST = 16, MOST_FILES = 64, MOST_PARAMETERS = 64 };

struct reading {
  perp_ctx *ctx;
  perp_diag *diag;
  perp_scene_file *file;
  int depth;
  const char *stack[DEEPEST]; /* absolute paths of the files that include each other */
};

/* Sections that are lists, and those that are maps. */
static const char *const lists[] = { "bodies", "shapes",  "pairs",   "joints",   "drives",
                                     "forces", "motions", "initial", "events",   "gauges",
                                     "truth",  "refuse",  "pose",    "disabled", "no_contact" };
static const char *const maps[] = { "scene", "parameters", "let", "materials", "control" };
enum { N_LISTS = sizeof lists / sizeof *lists, N_MAPS = sizeof maps / sizeof *maps };

static bool read_among(const char *word, const char *const *names, int n)
{
  for (int i = 0; i < n; i++)
    if (strcmp(names[i], word) == 0) return true;
  return false;
}

/* ---- files ---- */

/* One more file that the scene is made of. */
static void read_part(perp_scene_file *file, const char *path, const char *bytes, size_t size)
{
  file->hash = perp_hash64(bytes, size, file->hash + 1);
  file->part = perp_pool_grown(&file->pool, file->part, file->n_parts, sizeof *file->part);
  file->part[file->n_parts++] = perp_pool_strdup(&file->pool, path);
}

static const char *read_beside(struct reading *reading, const perp_node *node)
{
  const char *slash = strrchr(node->src->name, '/');
  if (node->text[0] == '/') return node->text;
  return perp_pool_printf(&reading->file->pool, "%.*s%s",
                          slash != NULL ? (int)(slash + 1 - node->src->name) : 0, node->src->name,
                          node->text);
}

/* Tables of numbers and motions belong to the content of the scene: the `file` of a map. */
static bool read_table(struct reading *reading, const perp_node *map)
{
  const bool is = map != NULL && map->type == PERP_NODE_MAP;
  const perp_node *name = is ? perp_tree_get(map, "file") : NULL;
  if (name == NULL || name->type != PERP_NODE_SCALAR) return true;
  const char *path = read_beside(reading, name), *why;
  size_t size;
  char *bytes = perp_read_input(path, &size, &why),
       *whole = bytes != NULL ? perp_real_path(path) : NULL;
  if (bytes == NULL)
    perp_diag_error(reading->diag, name, 0, "the path must be relative to the file that names it",
                    "cannot read %s: %s", path, why);
  else
    read_part(reading->file, whole != NULL ? whole : path, bytes, size);
  const bool good = bytes != NULL;
  free(bytes);
  free(whole);
  return good;
}

static bool read_tables(struct reading *reading, const perp_node *list)
{
  for (int i = 0; list != NULL && list->type == PERP_NODE_LIST && i < list->n; i++)
    if (!read_table(reading, list->item[i])) return false;
  return true;
}

/* ---- sections ---- */

static bool read_check(struct reading *reading, const perp_node *root)
{
  const perp_node *schema = root->type == PERP_NODE_MAP ? perp_tree_get(root, "schema") : NULL;
  if (root->type != PERP_NODE_MAP) {
    perp_diag_error(reading->diag, root, 0, NULL, "a scene must be a map of key: value");
    return false;
  }
  const char *said = schema != NULL && schema->type == PERP_NODE_SCALAR ? schema->text : "";
  if (strcmp(said, "perp-scene/1") != 0) {
    const bool study = strncmp(said, "perp-study/", 11) == 0;
    perp_diag_error(reading->diag, schema != NULL ? schema : root, 0,
                    study ? "perp run and perp check use studies" : "schema: perp-scene/1",
                    study            ? "this file is a study: a scene is required here"
                    : schema != NULL ? "unknown schema"
                                     : "this file is not a scene: its schema is missing");
    return false;
  }
  const int errors = reading->diag->errors;
  for (int i = 0; i < root->n; i++) {
    const char *key = root->key[i]->text, *names[N_LISTS + N_MAPS + 2];
    const perp_node *item = root->item[i];
    const bool empty = item->type == PERP_NODE_SCALAR && item->text[0] == '\0';
    int n = 0;
    for (int k = 0; k < N_LISTS; k++) names[n++] = lists[k];
    for (int k = 0; k < N_MAPS; k++) names[n++] = maps[k];
    names[n++] = "schema";
    names[n++] = "include";
    if (!read_among(key, names, n))
      perp_scene_unknown(reading->diag, root->key[i], "section", key, names, n);
    else if (read_among(key, lists, N_LISTS) && item->type != PERP_NODE_LIST && !empty)
      perp_diag_error(reading->diag, item, 0, "each entry begins with '- '", "%s must be a list",
                      key);
    else if (read_among(key, maps, N_MAPS) && item->type != PERP_NODE_MAP && !empty)
      perp_diag_error(reading->diag, item, 0, NULL, "%s must be a map of key: value", key);
  }
  return reading->diag->errors == errors;
}

static bool read_is(const perp_node *node, perp_node_type type)
{
  return node != NULL && node->type == type;
}

/* What `base` says, and then `over`: lists one behind the other, maps member by member. */
static perp_node *read_join(struct reading *reading, perp_node *base, const perp_node *over)
{
  const perp_node *why;
  for (int i = 0; i < over->n; i++) {
    const char *key = over->key[i]->text;
    const perp_node *before = perp_tree_get(base, key), *after = over->item[i];
    perp_node *both = (perp_node *)(uintptr_t)after;
    if (read_is(before, PERP_NODE_LIST) && after->type == PERP_NODE_LIST) {
      perp_node *node = perp_pool_alloc(&reading->file->pool, 1, sizeof *node);
      *node = *after;
      node->type = PERP_NODE_LIST;
      node->n = 0;
      node->item = node->key = NULL;
      both = node;
      both->n = before->n + after->n;
      both->item = perp_pool_alloc(&reading->file->pool, (size_t)both->n + 1, sizeof *both->item);
      if (before->n > 0) memcpy(both->item, before->item, (size_t)before->n * sizeof *both->item);
      if (after->n > 0)
        memcpy(both->item + before->n, after->item, (size_t)after->n * sizeof *both->item);
    } else if (read_is(before, PERP_NODE_MAP) && after->type == PERP_NODE_MAP)
      both = perp_tree_merge(&reading->file->pool, before, after);
    base = perp_tree_set(&reading->file->pool, base, key, both, &why);
  }
  return base;
}

/* ---- includes ---- */

static perp_node *read_one(struct reading *s, const char *shown, const char *text, size_t size,
                           const perp_node *at);

static perp_node *read_includes(struct reading *reading, perp_node *root)
{
  const perp_node *include = perp_tree_get(root, "include");
  if (include == NULL) return root;
  const bool list = include->type == PERP_NODE_LIST;
  if (include->type == PERP_NODE_MAP) {
    perp_diag_error(reading->diag, include, 0, NULL, "include must be a file, or a list of files");
    return NULL;
  }
  perp_node *all = NULL;
  for (int i = 0; i < (list ? include->n : 1); i++) {
    const perp_node *name = list ? include->item[i] : include;
    if (name->type != PERP_NODE_SCALAR || name->text[0] == '\0') {
      perp_diag_error(reading->diag, name, 0, NULL, "the name of a file is required here");
      return NULL;
    }
    perp_node *part = read_one(reading, read_beside(reading, name), NULL, 0, name);
    if (part == NULL) return NULL;
    all = all == NULL ? part : read_join(reading, all, part);
  }
  root = perp_tree_without(&reading->file->pool, root, "include");
  return all == NULL ? root : read_join(reading, all, root);
}

/* Is it read already, by a file that includes this one or beside it? */
static bool read_again(struct reading *reading, const char *path, const char *shown,
                       const perp_node *at)
{
  for (int i = 0; i < reading->depth; i++)
    if (strcmp(reading->stack[i], path) == 0) {
      perp_diag_error(reading->diag, at, 0, "remove one of the includes",
                      "the includes form a cycle: %s includes itself%s", shown,
                      i + 1 < reading->depth ? " through other files" : "");
      return true;
    }
  for (int part = 0; part < reading->file->n_parts; part++)
    if (strcmp(reading->file->part[part], path) == 0) {
      perp_diag_error(reading->diag, at, 0, "include the file once", "%s is included twice", shown);
      return true;
    }
  return false;
}

static perp_node *read_one(struct reading *reading, const char *shown, const char *text,
                           size_t size, const perp_node *at)
{
  char *bytes = NULL, *whole = text == NULL ? perp_real_path(shown) : NULL;
  const char *why = NULL;
  perp_node *root = NULL;
  if (reading->depth == DEEPEST || reading->file->n_parts == MOST_FILES)
    perp_diag_error(reading->diag, at, 0, NULL,
                    reading->depth == DEEPEST
                        ? "the includes are nested deeper than %d files"
                        : "the scene has more than %d files, which is the limit",
                    reading->depth == DEEPEST ? DEEPEST : MOST_FILES);
  else if (text == NULL && (whole == NULL || (bytes = perp_read_input(whole, &size, &why)) == NULL))
    perp_diag_error(reading->diag, at, 0,
                    at != NULL ? "the path must be relative to the file that names it" : NULL,
                    "cannot read the scene file %s: %s", shown,
                    why != NULL ? why : strerror(errno));
  else if (whole == NULL || !read_again(reading, whole, shown, at)) {
    const char *path = whole != NULL ? perp_pool_strdup(&reading->file->pool, whole) : shown;
    read_part(reading->file, path, text != NULL ? text : bytes, size);
    reading->stack[reading->depth++] = path;
    root = perp_tree_read(&reading->file->pool, reading->diag, shown, text != NULL ? text : bytes,
                          size);
    if (root != NULL && !read_check(reading, root)) root = NULL;
    if (root != NULL && (!read_table(reading, perp_tree_get(root, "control")) ||
                         !read_tables(reading, perp_tree_get(root, "truth")) ||
                         !read_tables(reading, perp_tree_get(root, "gauges")) ||
                         !read_tables(reading, perp_tree_get(root, "shapes"))))
      root = NULL;
    if (root != NULL) root = read_includes(reading, root);
    reading->depth--;
  }
  free(bytes);
  free(whole);
  return root;
}

/* ---- parameters ---- */

static const char *const types[] = { "integer", "real", "boolean", "choice", NULL };
enum { TYPE_INTEGER, TYPE_REAL, TYPE_BOOLEAN, TYPE_CHOICE, TYPE_NONE };
struct parameter {
  int type;
  const char *unit, *help;
};
static const perp_key parameter_keys[] = {
  PERP_KEY_ONE_OF(struct parameter, type, "type", types),
  PERP_KEY_OF(struct parameter, unit, "unit", PERP_KEY_TEXT),
  PERP_KEY_OF(struct parameter, help, "help", PERP_KEY_TEXT),
  PERP_KEY_SPECIAL("default"),
  PERP_KEY_SPECIAL("min"),
  PERP_KEY_SPECIAL("max"),
  PERP_KEY_SPECIAL("above"),
  PERP_KEY_SPECIAL("below"),
  PERP_KEY_SPECIAL("choices"),
  PERP_KEYS_END
};

/* A number in digits only, or absent. */
static bool read_digits(const perp_node *node)
{
  if (node == NULL) return true;
  const char *at = node->type == PERP_NODE_SCALAR ? node->text : "";
  at += *at == '-';
  return *at != '\0' && strspn(at, "0123456789") == strlen(at);
}

static int read_type(const perp_node *map, const perp_node *value,
                     const struct parameter *parameter)
{
  if (parameter->type != TYPE_NONE) return parameter->type;
  if (perp_tree_get(map, "choices") != NULL) return TYPE_CHOICE;
  if (strcmp(value->text, "true") == 0 || strcmp(value->text, "false") == 0) return TYPE_BOOLEAN;
  const bool whole = parameter->unit == NULL && read_digits(value) &&
                     read_digits(perp_tree_get(map, "min")) &&
                     read_digits(perp_tree_get(map, "max")) &&
                     perp_tree_get(map, "above") == NULL && perp_tree_get(map, "below") == NULL;
  return whole ? TYPE_INTEGER : TYPE_REAL;
}

static bool read_limit(perp_scene_reader *reader, const perp_node *map, const char *closed,
                       const char *open, unsigned flag, perp_opt *opt, double *bound)
{
  const perp_node *a = perp_tree_get(map, closed), *b = perp_tree_get(map, open);
  if (a != NULL && b != NULL) {
    PERP_SCENE_WRONG(reader, b, "%s and %s exclude each other: remove one", closed, open);
    return false;
  }
  if (b != NULL) opt->flags |= flag;
  return (a == NULL && b == NULL) ||
         perp_values_number(&reader->values, a != NULL ? a : b, opt->unit, bound);
}

static bool read_numbers(perp_scene_reader *reader, const perp_node *map, const perp_node *value,
                         perp_opt *opt)
{
  const bool whole = opt->type == PERP_OPT_INT;
  opt->min = whole ? INT32_MIN : -HUGE_VAL;
  opt->max = whole ? INT32_MAX : HUGE_VAL;
  if (!read_limit(reader, map, "min", "above", PERP_OPEN_MIN, opt, &opt->min) ||
      !read_limit(reader, map, "max", "below", PERP_OPEN_MAX, opt, &opt->max) ||
      !perp_values_number(&reader->values, value, opt->unit, &opt->dflt))
    return false;
  if (isinf(opt->min)) opt->flags |= PERP_OPEN_MIN;
  if (isinf(opt->max)) opt->flags |= PERP_OPEN_MAX;
  const bool low = opt->dflt < opt->min || (opt->dflt == opt->min && (opt->flags & PERP_OPEN_MIN));
  const bool high = opt->dflt > opt->max || (opt->dflt == opt->max && (opt->flags & PERP_OPEN_MAX));
  char range[80];
  perp_opt_range(opt, range, sizeof range);
  if (low || high || (whole && opt->dflt != nearbyint(opt->dflt))) {
    PERP_SCENE_WRONG(reader, value, "the default must be %sin %s", whole ? "an integer " : "",
                     range);
    return false;
  }
  return true;
}

static bool read_choices(perp_scene_reader *reader, const perp_node *map, const perp_node *value,
                         perp_opt *opt)
{
  const perp_node *list = perp_tree_get(map, "choices");
  if (!read_is(list, PERP_NODE_LIST) || list->n < 1 || list->n > 64) {
    PERP_SCENE_WRONG(reader, list != NULL ? list : map,
                     "a parameter with 'choices' needs a list of them: choices: [one, two]");
    return false;
  }
  const char **names = perp_pool_alloc(reader->pool, (size_t)list->n + 1, sizeof *names);
  for (int i = 0; i < list->n; i++) {
    const perp_node *item = list->item[i];
    names[i] = item->type == PERP_NODE_SCALAR ? item->text : "";
    if (names[i][0] == '\0' || strpbrk(names[i], ",=:()[] ") != NULL) {
      PERP_SCENE_WRONG(reader, item, "a choice must be one word");
      return false;
    }
  }
  opt->choices = names;
  int which = 0;
  if (!perp_keys_choice(reader, value, names, &which)) return false;
  opt->dflt = which;
  return true;
}

static bool read_parameter(perp_scene_reader *reader, const perp_node *key, const perp_node *map,
                           perp_opt *opt)
{
  static const perp_opt_type opt_types[] = { PERP_OPT_INT, PERP_OPT_REAL, PERP_OPT_BOOL,
                                             PERP_OPT_ENUM };
  struct parameter parameter = { .type = TYPE_NONE, .help = "" };
  if (map->type == PERP_NODE_MAP &&
      !perp_keys_read(reader, map, "a parameter", parameter_keys, &parameter))
    return false;
  const perp_node *value = map->type == PERP_NODE_MAP ? perp_tree_get(map, "default") : map;
  if (value == NULL || value->type != PERP_NODE_SCALAR || value->text[0] == '\0') {
    perp_diag_error(reader->diag, key, 0,
                    "name: { default: 1 m, min: 0, unit: m, help: Length of the rod. }",
                    "a parameter needs the key 'default'");
    return false;
  }
  *opt = (perp_opt){ .key = key->text,
                     .unit = parameter.unit != NULL ? parameter.unit : "",
                     .help = parameter.help };
  if (parameter.unit != NULL && !perp_expr_unit_is(parameter.unit)) {
    perp_diag_error(reader->diag, perp_tree_get(map, "unit"), 0,
                    "m, kg, s, rad, m/s, N, N/m, kg m^2, ...",
                    "the unit of a parameter must be an SI unit: got '%s'", parameter.unit);
    return false;
  }
  opt->type = opt_types[read_type(map, value, &parameter)];
  if (opt->type == PERP_OPT_ENUM) return read_choices(reader, map, value, opt);
  if (opt->type != PERP_OPT_BOOL) return read_numbers(reader, map, value, opt);
  bool truth;
  if (!perp_values_true(&reader->values, value, &truth)) return false;
  opt->dflt = truth;
  return true;
}

bool perp_scene_file_options(perp_ctx *ctx, perp_diag *diag, perp_scene_file *file)
{
  perp_pool pool = { 0 };
  const perp_node *map = perp_tree_get(file->root, "parameters");
  perp_scene_reader reader = {
    .ctx = ctx, .diag = diag, .pool = &file->pool, .root = file->root, .dim = 3
  };
  perp_values names; /* that they can all be known at once is seen here */
  const int n = read_is(map, PERP_NODE_MAP) ? map->n : 0, errors = diag->errors;
  perp_values_init(&reader.values, ctx, diag, &file->pool);
  perp_values_init(&names, ctx, diag, &pool);
  if (n > MOST_PARAMETERS)
    PERP_SCENE_WRONG(&reader, map, "the scene has more than %d parameters, which is the limit",
                     MOST_PARAMETERS);
  file->options = perp_pool_alloc(&file->pool, (size_t)n + 1, sizeof *file->options);
  file->at = perp_pool_alloc(&file->pool, (size_t)n + 1, sizeof *file->at);
  for (int option = 0; option < n && diag->errors == errors; option++) {
    perp_opt *opt = &file->options[option];
    if (!perp_values_add(&names, map->key[option], map->key[option]->text, "",
                         (perp_value){ PERP_VALUE_NUMBER, 0, NULL }, NULL) ||
        !read_parameter(&reader, map->key[option], map->item[option], opt))
      break;
    opt->offset = (size_t)option * sizeof(double);
    file->at[option] = map->key[option];
  }
  perp_pool_free(&pool);
  file->n_options = n;
  return diag->errors == errors;
}

bool perp_scene_file_read(perp_ctx *ctx, perp_diag *diag, const char *shown, const char *text,
                          size_t size, perp_scene_file *file)
{
  struct reading reading = { .ctx = ctx, .diag = diag, .file = file };
  char here[4096];
  file->folder = perp_pool_strdup(&file->pool, getcwd(here, sizeof here) != NULL ? here : ".");
  file->root = read_one(&reading, shown, text, size, NULL);
  if (file->root == NULL || !perp_scene_file_options(ctx, diag, file)) return false;
  file->path = file->part[0];
  return true;
}

/* ---- a file as a plug-in: its descriptor, which builds the scene ---- */

perp_status perp_scene_file_refuse(perp_ctx *ctx, perp_diag *diag, perp_status status)
{
  char line[480];
  /* The first message in one line, with its hint behind "; ". */
  const size_t size = sizeof line;
  const char *at = diag->text.s != NULL ? diag->text.s : "error: unknown", *end = strchr(at, '\n');
  const char *error = strstr(at, "error: ");
  const int length = end != NULL ? (int)(end - at) : (int)strlen(at),
            before = error != NULL ? (int)(error - at) : 0;
  int n = snprintf(line, size, "%.*s%.*s", before, at, length - before - 7, at + before + 7);
  const char *caret = end != NULL ? strstr(end, "\n      | ") : NULL;
  if (caret != NULL) caret = strchr(caret + 1, '^');
  if (caret != NULL && caret[1] == ' ' && n > 0 && (size_t)n < size)
    snprintf(line + n, size - (size_t)n, "; %.*s", (int)strcspn(caret + 2, "\n"), caret + 2);
  perp_diag_free(diag);
  return PERP_FAIL(ctx, status, "%s", line);
}

static perp_status read_make(perp_ctx *ctx, const void *data, const void *opts, perp_scene *scene)
{
  perp_diag diag = { 0 };
  const perp_status status = perp_scene_file_build(ctx, &diag, data, opts, scene);
  if (status != PERP_OK) return perp_scene_file_refuse(ctx, &diag, status);
  perp_diag_free(&diag);
  return PERP_OK;
}

static const char *read_text(const perp_node *root, const char *key, const char *dflt)
{
  const perp_node *scene = perp_tree_get(root, "scene");
  const perp_node *node = scene != NULL ? perp_tree_get(scene, key) : NULL;
  return node != NULL && node->type == PERP_NODE_SCALAR ? node->text : dflt;
}

void perp_scene_file_describe(perp_scene_file *file, const char *name)
{
  file->name = perp_pool_strdup(&file->pool, name);
  file->desc = (perp_scene_desc){
    .d = { .name = file->name,
           .summary = read_text(file->root, "summary", "Scene from a file"),
           .reference = read_text(file->root, "reference", file->name),
           .equation = read_text(file->root, "equation", NULL),
           .opts = file->n_options > 0 ? file->options : NULL,
           .opts_size = (size_t)file->n_options * sizeof(double) },
    .build_from = read_make,
    .data = file,
  };
}
