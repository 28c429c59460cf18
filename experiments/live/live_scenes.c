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

perp_status perp_live_scenes(perp_ctx *ctx, perp_json *json, const char *const *file, int n)
{
  const perp_desc *desc;
  perp_status status = PERP_OK;
  perp_json_open(json, "scenes", '[');
  for (int i = 0; status == PERP_OK && (desc = perp_plugin_at(ctx, PERP_KIND_scene, i)) != NULL;
       i++)
    if (perp_is_own(ctx, desc)) status = put_scene(ctx, json, desc, false);
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
