/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/live/live_scenes.h"

#include "experiments/base/files.h"
#include "experiments/base/memory.h"
#include "experiments/live/live_paths.h"
#include "experiments/scenes/scene_file.h"

#include <stdlib.h>
#include <string.h>

void perp_live_tree(perp_json *json, const char *key, const perp_node *node)
{
  if (node->type == PERP_NODE_SCALAR) {
    perp_json_text(json, key, node->text);
    return;
  }
  const bool map = node->type == PERP_NODE_MAP;
  perp_json_open(json, key, map ? '{' : '[');
  for (int i = 0; i < node->n; i++)
    perp_live_tree(json, map ? node->key[i]->text : NULL, node->item[i]);
  perp_json_close(json, map ? '}' : ']');
}

/* Does anything in it name a file? */
static bool live_outside(const perp_node *node)
{
  if (node->type == PERP_NODE_SCALAR) return false;
  if (perp_tree_get(node, "include") != NULL || perp_tree_get(node, "file") != NULL) return true;
  for (int i = 0; i < node->n; i++)
    if (live_outside(node->item[i])) return true;
  return false;
}

static perp_status put_scene(perp_ctx *ctx, perp_json *json, const perp_desc *desc, bool named)
{
  char *source = perp_scene_file_source(desc);
  if (source == NULL) return PERP_OK; /* a scene in C: the module has it */
  perp_pool pool = { 0 };
  perp_diag diag = { 0 };
  perp_status status = PERP_OK;
  const perp_node *root = perp_tree_read(&pool, &diag, desc->name, source, strlen(source));
  if (root == NULL)
    status = PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s", diag.text.s);
  else if (!live_outside(root)) {
    perp_json_open(json, NULL, '{');
    perp_json_text(json, "name", desc->name);
    perp_json_text(json, "summary", desc->summary);
    perp_live_tree(json, "tree", root);
    perp_json_close(json, '}');
  } else if (named)
    status = PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "%s reads other files, which a page cannot do: write one file with perp "
                       "export %s -o whole.yaml",
                       desc->name, desc->name);
  perp_diag_free(&diag);
  perp_pool_free(&pool);
  free(source);
  return status;
}

/* Examples whose parts are in several files, as one file each, with all numbers. */
static const char *const figure[] = { "hanging.yaml", "rag-doll.yaml" };

static perp_status put_figure(perp_ctx *ctx, perp_json *json, const char *name)
{
  perp_spec spec;
  perp_scene scene;
  char *text = NULL;
  size_t size = 0;
  PERP_TRY(perp_spec_parse(ctx, PERP_KIND_scene, name, &spec));
  perp_status status = perp_scene_create(ctx, &spec, &scene);
  if (status == PERP_OK) {
    FILE *out = perp_memory_stream(&text, &size);
    status = perp_scene_export(ctx, spec.d, &scene, name, out);
    perp_memory_stream_close(out);
    perp_scene_destroy(&scene);
  }
  perp_pool pool = { 0 };
  perp_diag diag = { 0 };
  const perp_node *root = status == PERP_OK ? perp_tree_read(&pool, &diag, name, text, size) : NULL;
  if (status == PERP_OK && root == NULL)
    status = PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s", diag.text.s);
  if (root != NULL) {
    perp_json_members(json, "{ name %s, summary %s", name, spec.d->summary);
    perp_live_tree(json, "tree", root);
    perp_json_close(json, '}');
  }
  perp_diag_free(&diag);
  perp_pool_free(&pool);
  free(text);
  perp_spec_free(&spec);
  return status;
}

perp_status perp_live_scenes(perp_ctx *ctx, perp_json *json, const char *const *file, int n)
{
  const perp_desc *desc;
  perp_status status = PERP_OK;
  perp_json_open(json, "scenes", '[');
  for (int i = 0; status == PERP_OK && (desc = perp_plugin_at(ctx, PERP_KIND_scene, i)) != NULL;
       i++)
    if (perp_is_own(ctx, desc)) status = put_scene(ctx, json, desc, false);
  for (size_t i = 0; status == PERP_OK && i < sizeof figure / sizeof *figure; i++)
    status = put_figure(ctx, json, figure[i]);
  for (int i = 0; status == PERP_OK && i < n; i++) {
    perp_spec spec;
    if (!perp_scene_file_named(file[i])) continue;
    status = perp_spec_parse(ctx, PERP_KIND_scene, file[i], &spec);
    if (status == PERP_OK) status = put_scene(ctx, json, spec.d, true);
    if (status == PERP_OK) perp_spec_free(&spec);
  }
  perp_json_close(json, ']');
  return status;
}

perp_status perp_live_scenes_of(perp_ctx *ctx, perp_json *json, const char *const *text, int n,
                                int needed)
{
  perp_status status = PERP_OK;
  perp_json_open(json, "scenes", '[');
  for (int i = 0; status == PERP_OK && i < n; i++) {
    perp_spec spec;
    status = perp_spec_parse(ctx, PERP_KIND_scene, text[i], &spec);
    if (status != PERP_OK) break;
    status = put_scene(ctx, json, spec.d, i < needed);
    perp_spec_free(&spec);
  }
  perp_json_close(json, ']');
  return status;
}

char *perp_live_module(size_t *size)
{
  char *text = perp_read_file(LIVE_BUILT "/perp.wasm.txt", size);
  return text != NULL ? text : perp_read_file(LIVE_INSTALLED "/perp.wasm.txt", size);
}

bool perp_live_built(void)
{
  return perp_exists(LIVE_BUILT "/perp.wasm.txt") || perp_exists(LIVE_INSTALLED "/perp.wasm.txt");
}
