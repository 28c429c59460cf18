/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SDF, the format of Gazebo: worlds and models, their frames, and what they include. */
#include "experiments/import/sdf_private.h"

#include "experiments/import/robot_search.h"

#include <libxml/tree.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FRAMES = 20000, MOST_INCLUDES = 200, MOST_DEPTH = 16, MOST_GROUPS = 30 };

/* ---- models ---- */

static perp_sdf_frame *sdf_add_frame(perp_sdf *sdf, const xmlNode *at, const char *scope,
                                     const char *name)
{
  const char *whole = perp_sdf_join(sdf, scope, name);
  if (perp_sdf_absolute(sdf, whole) != NULL)
    perp_xml_refuse(sdf->robot, at, "rename one of them", "two elements are called '%s'", whole);
  if (sdf->n_frames == MOST_FRAMES)
    perp_xml_refuse(sdf->robot, at, "divide the file", "it has more than %d frames", MOST_FRAMES);
  if (perp_robot_refused(sdf->robot)) return NULL;
  sdf->frame = perp_pool_grown(&sdf->robot->pool, sdf->frame, sdf->n_frames, sizeof *sdf->frame);
  perp_sdf_frame *frame = &sdf->frame[sdf->n_frames++];
  *frame = (perp_sdf_frame){ .name = whole, .scope = scope, .at = at, .base = "", .link = -1 };
  perp_tree_identity(&frame->pose);
  return frame;
}

static const char *sdf_name(perp_sdf *sdf, const xmlNode *at)
{
  const char *name = perp_xml_text(sdf->robot, at, "name");
  if (name != NULL && name[0] != '\0') return name;
  perp_xml_refuse(sdf->robot, at, "give it a name", "<%s> has no attribute 'name'", at->name);
  return "";
}

typedef struct sdf_place { /* where a model is read */
  const char *scope, *folder;
  int depth;
  bool fixed;
  const char *name;  /* instead of its own; NULL */
  const xmlNode *at; /* the <include> whose pose counts; NULL */
} sdf_place;

static void sdf_models(perp_sdf *sdf, const xmlNode *of, const sdf_place *in);

static void sdf_frames_of(perp_sdf *sdf, const xmlNode *model, const char *scope)
{
  for (const xmlNode *at = perp_xml_child(model, "frame"); at != NULL;
       at = perp_xml_next(at, "frame")) {
    perp_sdf_frame *frame = sdf_add_frame(sdf, at, scope, sdf_name(sdf, at));
    const char *base, *attached = perp_xml_text(sdf->robot, at, "attached_to");
    if (frame == NULL) return;
    perp_sdf_pose(sdf, at, &frame->pose, &base);
    if (attached != NULL && attached[0] == '\0') attached = NULL;
    frame->attached = perp_sdf_base(sdf, scope, attached);
    frame->base = perp_sdf_base(sdf, scope, base != NULL ? base : attached);
  }
  for (const xmlNode *at = perp_xml_child(model, "joint"); at != NULL;
       at = perp_xml_next(at, "joint")) {
    const char *name = sdf_name(sdf, at), *base;
    perp_sdf_frame *frame = sdf_add_frame(sdf, at, scope, name);
    if (frame == NULL) return;
    perp_sdf_pose(sdf, at, &frame->pose, &base);
    const char *child = perp_sdf_text(sdf, at, "child");
    frame->attached = perp_sdf_base(sdf, scope, child);
    frame->base = base != NULL ? perp_sdf_base(sdf, scope, base) : frame->attached;
    sdf->joint = perp_pool_grown(&sdf->robot->pool, sdf->joint, sdf->n_joints, sizeof *sdf->joint);
    sdf->joint[sdf->n_joints++] = (perp_sdf_joint){ at, name, scope };
  }
}

static void sdf_model(perp_sdf *sdf, const xmlNode *at, const sdf_place *in)
{
  static const char *const read[] = { "pose",
                                      "link",
                                      "joint",
                                      "frame",
                                      "model",
                                      "include",
                                      "static",
                                      "self_collide",
                                      "allow_auto_disable",
                                      "enable_wind",
                                      NULL };
  const char *own = in->name != NULL ? in->name : sdf_name(sdf, at), *base;
  perp_sdf_frame *frame = sdf_add_frame(sdf, at, in->scope, own);
  if (frame == NULL) return;
  const bool moved = in->at != NULL && perp_xml_child(in->at, "pose") != NULL;
  perp_sdf_pose(sdf, moved ? in->at : at, &frame->pose, &base);
  frame->base = perp_sdf_base(sdf, in->scope, base);
  const char *scope = perp_sdf_join(sdf, frame->name, "::");
  const xmlNode *first = perp_xml_child(at, "link");
  frame->attached = first != NULL ? perp_sdf_join(sdf, scope, sdf_name(sdf, first)) : NULL;
  if (perp_xml_text(sdf->robot, at, "placement_frame") != NULL)
    perp_robot_lost(sdf->robot, "placement_frame of model %s: its pose is that of its own frame",
                    own);
  const bool fixed = in->fixed || perp_sdf_true(sdf, at, "static", false) ||
                     (in->at != NULL && perp_sdf_true(sdf, in->at, "static", false));
  const bool self = perp_sdf_true(sdf, at, "self_collide", false);
  const int bit = 1 << (sdf->n_models < MOST_GROUPS ? sdf->n_models : MOST_GROUPS);
  const perp_sdf_group group = { bit, self || sdf->n_models >= MOST_GROUPS ? INT32_MAX
                                                                           : INT32_MAX & ~bit };
  sdf->n_models++;
  sdf->n_tops += in->scope[0] == '\0';
  perp_sdf_rest(sdf, at, read, perp_pool_printf(&sdf->robot->pool, "model %s", own));
  for (const xmlNode *node = perp_xml_child(at, "link");
       node != NULL && !perp_robot_refused(sdf->robot); node = perp_xml_next(node, "link")) {
    perp_sdf_frame *link = sdf_add_frame(sdf, node, scope, sdf_name(sdf, node));
    if (link == NULL) return;
    perp_sdf_pose(sdf, node, &link->pose, &base);
    link->base = perp_sdf_base(sdf, scope, base);
    link->link = sdf->tree.n_links;
    perp_sdf_link(sdf, node, scope, in->folder, fixed, &group);
  }
  if (perp_robot_refused(sdf->robot)) return;
  sdf_frames_of(sdf, at, scope);
  const sdf_place inner = { scope, in->folder, in->depth + 1, fixed, NULL, NULL };
  sdf_models(sdf, at, &inner);
}

/* The SDF file that a folder with a model.config has: of several the last one. */
static const char *sdf_of_folder(perp_sdf *sdf, const char *folder, const xmlNode *at)
{
  const char *config = perp_pool_printf(&sdf->robot->pool, "%s/model.config", folder);
  xmlDoc *doc = perp_xml_open(sdf->robot, config, at);
  const char *name = NULL;
  for (const xmlNode *node =
           doc != NULL ? perp_xml_child(perp_xml_calls.xmlDocGetRootElement(doc), "sdf") : NULL;
       node != NULL; node = perp_xml_next(node, "sdf"))
    name = perp_xml_content(sdf->robot, node);
  perp_xml_calls.xmlFreeDoc(doc);
  if (perp_robot_refused(sdf->robot)) return NULL;
  return perp_robot_find(sdf->robot, folder, name != NULL ? name : "model.sdf", "model",
                         at != NULL ? perp_xml_file(at) : NULL, at != NULL ? perp_xml_line(at) : 0);
}

/* The two models that nearly every world includes, where the person has them not: the light is
 * nothing, and the ground is a plane. */
static bool sdf_built_in(perp_sdf *sdf, const char *uri, const xmlNode *at, const sdf_place *in)
{
  const bool ground = strcmp(uri, "model://ground_plane") == 0;
  if (!ground && strcmp(uri, "model://sun") != 0) return false;
  if (!ground) return true;
  perp_tree_link *link = perp_tree_add_link(&sdf->tree,
                                            perp_sdf_join(sdf, in->scope, "ground_plane"), at);
  if (link == NULL) return true;
  perp_sdf_pose(sdf, at, &link->pose, NULL);
  link->fixed = link->inertial = true;
  perp_tree_pose pose;
  perp_tree_identity(&pose);
  perp_tree_add_geom(&sdf->tree, link, PERP_ROBOT_PLANE, &pose)->name = "ground_plane";
  perp_robot_note(sdf->robot, "model://ground_plane is not found: the plane z = 0 in its place");
  return true;
}

static void sdf_include(perp_sdf *sdf, const xmlNode *at, const sdf_place *in)
{
  static const char *const read[] = { "uri", "name", "pose", "static", NULL };
  const char *uri = perp_sdf_text(sdf, at, "uri"), *name = perp_sdf_text(sdf, at, "name");
  if (sdf->n_docs == MOST_INCLUDES || in->depth >= MOST_DEPTH) {
    perp_xml_refuse(sdf->robot, at, "does a model include itself?",
                    "more than %d files are included, or %d inside each other", MOST_INCLUDES,
                    MOST_DEPTH);
    return;
  }
  const char *folder = perp_robot_search_folder(sdf->robot, in->folder, uri), *file;
  if (folder == NULL && sdf_built_in(sdf, uri, at, in)) return;
  if (folder != NULL)
    file = sdf_of_folder(sdf, folder, at);
  else
    file = perp_robot_find(sdf->robot, in->folder, uri, "included model", perp_xml_file(at),
                           perp_xml_line(at));
  xmlDoc *doc = file != NULL ? perp_xml_open(sdf->robot, file, at) : NULL;
  if (doc == NULL) return;
  sdf->doc = perp_pool_grown(&sdf->robot->pool, sdf->doc, sdf->n_docs, sizeof *sdf->doc);
  sdf->doc[sdf->n_docs++] = doc;
  perp_sdf_rest(sdf, at, read, perp_pool_printf(&sdf->robot->pool, "include %s", uri));
  const xmlNode *model = perp_xml_child(perp_xml_calls.xmlDocGetRootElement(doc), "model");
  if (model == NULL) {
    perp_xml_refuse(sdf->robot, at, "include a file with one <model>", "%s has no model", file);
    return;
  }
  const sdf_place inner = { in->scope, perp_robot_folder(sdf->robot, file), in->depth + 1,
                            in->fixed, name[0] != '\0' ? name : NULL,       at };
  sdf_model(sdf, model, &inner);
}

static void sdf_models(perp_sdf *sdf, const xmlNode *of, const sdf_place *in)
{
  if (in->depth > MOST_DEPTH) {
    perp_xml_refuse(sdf->robot, of, "nest fewer of them", "more than %d models inside each other",
                    MOST_DEPTH);
    return;
  }
  for (const xmlNode *at = perp_xml_child(of, NULL); at != NULL && !perp_robot_refused(sdf->robot);
       at = perp_xml_next(at, NULL))
    if (perp_xml_is(at, "model"))
      sdf_model(sdf, at, in);
    else if (perp_xml_is(at, "include"))
      sdf_include(sdf, at, in);
}

/* ---- the file ---- */

static void sdf_world(perp_sdf *sdf, const xmlNode *world)
{
  static const char *const read[] = {
    "model", "include", "gravity",    "physics",        "light", "scene",
    "gui",   "audio",   "atmosphere", "magnetic_field", "frame", "spherical_coordinates",
    "state", NULL
  };
  perp_robot *robot = sdf->robot;
  const xmlNode *physics = perp_xml_child(world, "physics");
  perp_sdf_numbers(sdf, world, "gravity", 3, robot->gravity);
  robot->timestep = perp_sdf_number(sdf, physics, "max_step_size", robot->timestep);
  if (!(robot->timestep > 0))
    perp_xml_refuse(robot, physics, "write a time in s", "max_step_size is not positive");
  if (perp_xml_child(world, "state") != NULL)
    perp_robot_lost(robot, "state of the world: the initial state is the pose as drawn");
  perp_sdf_rest(sdf, world, read, "the world");
}

/* Where there is only one model its name is left out of those of its links: MODEL::A::B is A/B. */
static void sdf_plain_names(perp_sdf *sdf)
{
  for (int k = 0; k < 2; k++)
    for (int joint = 0; joint < (k == 0 ? sdf->tree.n_links : sdf->tree.n_joints); joint++) {
      const char **name = k == 0 ? &sdf->tree.link[joint].name : &sdf->tree.joint[joint].name;
      const char *s = *name, *inner = strstr(s, "::");
      if (sdf->n_tops == 1 && inner != NULL) s = inner + 2;
      char *plain = perp_pool_strdup(&sdf->robot->pool, s);
      for (char *c = plain; (c = strstr(c, "::")) != NULL; c++) { /* MODEL/LINK */
        *c = '/';
        memmove(c + 1, c + 2, strlen(c + 2) + 1);
      }
      *name = plain;
      for (int a = 0; k == 1 && a < sdf->tree.joint[joint].n; a++) {
        perp_robot_joint *axis = &sdf->tree.joint[joint].axis[a];
        axis->name = a == 0 ? plain : perp_pool_printf(&sdf->robot->pool, "%s_%d", plain, a + 1);
      }
    }
}

static void sdf_read(perp_sdf *sdf, const xmlNode *root)
{
  perp_robot *robot = sdf->robot;
  const xmlNode *world = perp_xml_child(root, "world"), *first = world != NULL ? world : root;
  const xmlNode *model = perp_xml_child(first, "model");
  const char *name = model != NULL ? perp_xml_text(robot, world != NULL ? world : model, "name")
                                   : NULL;
  robot->name = name != NULL ? name : "";
  if (world != NULL) sdf_world(sdf, world);
  if (world != NULL && perp_xml_next(world, "world") != NULL)
    perp_robot_lost(robot, "further worlds of the file");
  const sdf_place in = { "", perp_robot_folder(robot, robot->path), 0, false, NULL, NULL };
  sdf_models(sdf, first, &in);
  if (!perp_robot_refused(robot) && sdf->tree.n_links == 0)
    perp_xml_refuse(robot, root, "an SDF has <world> or <model>, with at least one <link>",
                    "the file has no link");
  for (int frame = 0; frame < sdf->n_frames && !perp_robot_refused(robot); frame++)
    if (perp_sdf_resolve(sdf, &sdf->frame[frame]) && sdf->frame[frame].link >= 0)
      sdf->tree.link[sdf->frame[frame].link].pose = sdf->frame[frame].pose;
  if (!perp_robot_refused(robot)) perp_sdf_joints(sdf);
  if (perp_robot_refused(robot)) return;
  sdf_plain_names(sdf);
  perp_tree_build(&sdf->tree);
  if (!perp_robot_refused(robot)) perp_sdf_couplings(sdf);
  perp_tree_tell(&sdf->tree);
}

void perp_sdf_read(perp_robot *robot, xmlDoc *doc)
{
  perp_sdf sdf = { .robot = robot, .tree = { .robot = robot, .floating = true } };
  robot->format = "SDF";
  robot->timestep = 0.001; /* the default of SDF */
  sdf_read(&sdf, perp_xml_calls.xmlDocGetRootElement(doc));
  for (int i = 0; i < sdf.n_docs; i++) perp_xml_calls.xmlFreeDoc(sdf.doc[i]);
}

const char *perp_sdf_of_folder(perp_robot *robot, const char *config)
{
  perp_sdf sdf = { .robot = robot };
  return sdf_of_folder(&sdf, perp_robot_folder(robot, config), NULL);
}
