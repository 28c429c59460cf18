/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events of a scene file, coordinates that pass a value, and bodies that are disabled until one. */
#include "experiments/scenes/parts.h"

#include <math.h>
#include <string.h>

enum direction { FALLS, BOTH, RISES };
static const char *const directions[] = {
  [FALLS] = "falls", [BOTH] = "both", [RISES] = "rises", [RISES + 1] = NULL
};
struct event {
  const char *name, *of;
  double value;
  enum direction direction;
};
static const perp_key event_keys[] = { PERP_KEY_OF(struct event, name, "name", PERP_KEY_TEXT),
                                       PERP_KEY_OF(struct event, of, "of", PERP_KEY_TEXT),
                                       PERP_KEY_REAL(struct event, value, "value", NULL),
                                       PERP_KEY_ONE_OF(struct event, direction, "direction",
                                                       directions),
                                       PERP_KEY_SPECIAL("times"),
                                       PERP_KEYS_ENTRY,
                                       PERP_KEYS_END };
/* The times of the event that comes next, rising. */
static bool events_times(perp_scene_reader *reader, const perp_node *node, perp_scene_events *list)
{
  if (node->type != PERP_NODE_LIST || node->n < 1) {
    PERP_SCENE_WRONG(reader, node, "times must be a list of increasing times");
    return false;
  }
  for (int i = 0; i < node->n; i++) {
    double t;
    if (!perp_values_number(&reader->values, node->item[i], "s", &t)) return false;
    if (i > 0 && !(t > list->time[list->n_times - 1])) {
      PERP_SCENE_WRONG(reader, node->item[i], "times must increase");
      return false;
    }
    list->time = perp_pool_grown(reader->pool, list->time, list->n_times, sizeof *list->time);
    list->of = perp_pool_grown(reader->pool, list->of, list->n_times, sizeof *list->of);
    list->time[list->n_times] = t;
    list->of[list->n_times++] = list->n;
  }
  return true;
}

static void events_entry(perp_scene_reader *reader, const perp_node *entry, void *user)
{
  perp_scene_events *list = user;
  struct event e = { .direction = RISES };
  if (!perp_scene_fit(reader, entry, event_keys, "event", "name of ?value ?direction ?times"))
    return;
  if (!perp_keys_read(reader, entry, "events", event_keys, &e)) return;
  perp_event event = { .name = e.name, .value = e.value, .direction = (int)e.direction - BOTH };
  if (perp_coordinate_find(reader->ctx, reader->scene->model, e.of, &event.body, &event.k) !=
      PERP_OK) {
    perp_scene_refused(reader, perp_tree_get(entry, "of"));
    return;
  }
  const perp_node *times = perp_tree_get(entry, "times");
  if (times != NULL && !events_times(reader, times, list)) return;
  list->event = perp_pool_grown(reader->pool, list->event, list->n, sizeof *list->event);
  list->event[list->n++] = event;
}

void perp_scene_read_events(perp_scene_reader *reader, perp_scene_events *out)
{
  perp_entries(reader, perp_tree_get(reader->root, "events"), "events", events_entry, out);
}

/* ---- disabled bodies ---- */

struct disabled {
  int body;
};
static const perp_key disabled_keys[] = { PERP_KEY_OF(struct disabled, body, "body", PERP_KEY_BODY),
                                          PERP_KEY_SPECIAL("from"), PERP_KEY_SPECIAL("until"),
                                          PERP_KEYS_ENTRY, PERP_KEYS_END };
struct disabling {
  perp_model *model;
  const perp_scene_events *events;
};

/* A time, the name of an event, or `contact`. */
static bool disabled_cue(perp_scene_reader *reader, const perp_node *node,
                         const perp_scene_events *events, perp_cue *cue)
{
  if (node == NULL) return true;
  const char *text = node->type == PERP_NODE_SCALAR ? perp_values_text(&reader->values, node)
                                                    : NULL;
  for (int i = 0; text != NULL && i < events->n; i++) {
    const perp_event *event = &events->event[i];
    if (strcmp(text, event->name) != 0) continue;
    *cue = (perp_cue){ .kind = PERP_CUE_COORDINATE,
                       .body = event->body,
                       .coordinate = event->k,
                       .value = event->value,
                       .direction = event->direction };
    return true;
  }
  cue->kind = text != NULL && strcmp(text, "contact") == 0 ? PERP_CUE_CONTACT : PERP_CUE_TIME;
  return cue->kind == PERP_CUE_CONTACT ||
         perp_values_number(&reader->values, node, "s", &cue->time);
}

static void disabled_entry(perp_scene_reader *reader, const perp_node *entry, void *user)
{
  const struct disabling *disabling = user;
  struct disabled own = { .body = PERP_WORLD };
  perp_disabled_def def = { .until.time = HUGE_VAL };
  if (!perp_scene_fit(reader, entry, disabled_keys, "disabled", "body ?from ?until") ||
      !perp_keys_read(reader, entry, "disabled", disabled_keys, &own) ||
      !disabled_cue(reader, perp_tree_get(entry, "from"), disabling->events, &def.from) ||
      !disabled_cue(reader, perp_tree_get(entry, "until"), disabling->events, &def.until))
    return;
  if (own.body == PERP_WORLD) {
    PERP_SCENE_WRONG(reader, perp_tree_get(entry, "body"), "the world never moves: name a body");
    return;
  }
  def.body = own.body;
  reader->disabled_at = perp_pool_grown(reader->pool, reader->disabled_at, reader->n_disabled,
                                        sizeof *reader->disabled_at);
  reader->disabled_at[reader->n_disabled++] = entry;
  if (perp_model_add_disabled(reader->ctx, disabling->model, &def, NULL) != PERP_OK)
    perp_scene_refused(reader, entry);
}

void perp_scene_add_disabled(perp_scene_reader *reader, perp_model *model)
{
  const perp_node *list = perp_tree_get(reader->root, "disabled");
  perp_scene_events events = { 0 };
  if (list == NULL || reader->bare)
    return; /* a motion that a controller follows has no use for it */
  perp_scene_read_events(reader, &events);
  struct disabling disabling = { model, &events };
  perp_entries(reader, list, "disabled", disabled_entry, &disabling);
}

/* ---- export ---- */

static void events_write_number(double x, FILE *out)
{
  char text[40];
  perp_format_real(x, text, sizeof text);
  fputs(text, out);
}

/* The event that a disabled body waits for. */
static void events_write(const perp_model *model, const perp_cue *cue, const char *when, int i,
                         FILE *out)
{
  const int dim = perp_model_dim(model);
  if (cue->kind != PERP_CUE_COORDINATE) return;
  fprintf(out, "  - { name: %s%d, of: \"%d.%s\", value: ", when, i, cue->body,
          perp_coordinate_name(dim, cue->coordinate));
  events_write_number(cue->value, out);
  fprintf(out, ", direction: %s }\n",
          cue->direction > 0   ? "rises"
          : cue->direction < 0 ? "falls"
                               : "both");
}

static void events_write_cue(const perp_cue *cue, const char *when, int i, FILE *out)
{
  if (cue->kind == PERP_CUE_TIME && (cue->time == 0 || isinf(cue->time))) return;
  fprintf(out, ", %s: ", when);
  if (cue->kind == PERP_CUE_TIME)
    events_write_number(cue->time, out);
  else if (cue->kind == PERP_CUE_CONTACT)
    fputs("contact", out);
  else
    fprintf(out, "%s%d", when, i);
}

void perp_scene_export_disabled(const perp_model *model, FILE *out)
{
  const int n = perp_model_disabled(model);
  bool events = false;
  for (int i = 0; i < n; i++) {
    const perp_disabled_def *def = perp_model_disabled_of(model, i);
    events |= def->from.kind == PERP_CUE_COORDINATE || def->until.kind == PERP_CUE_COORDINATE;
  }
  if (events) fputs("events:\n", out);
  for (int i = 0; i < n; i++) {
    events_write(model, &perp_model_disabled_of(model, i)->from, "from", i, out);
    events_write(model, &perp_model_disabled_of(model, i)->until, "until", i, out);
  }
  if (n > 0) fputs("disabled:\n", out);
  for (int i = 0; i < n; i++) {
    const perp_disabled_def *def = perp_model_disabled_of(model, i);
    fprintf(out, "  - { body: %d", def->body);
    events_write_cue(&def->from, "from", i, out);
    events_write_cue(&def->until, "until", i, out);
    fputs(" }\n", out);
  }
}
