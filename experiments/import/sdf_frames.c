/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Content of elements of SDF, and frames: what a pose is relative to. */
#include "experiments/import/sdf_private.h"

#include <math.h>
#include <string.h>

/* ---- content of elements ---- */

const char *perp_sdf_text(perp_sdf *sdf, const xmlNode *of, const char *name)
{
  const xmlNode *at = perp_xml_child(of, name);
  return at != NULL ? perp_xml_content(sdf->robot, at) : "";
}

int perp_sdf_numbers(perp_sdf *sdf, const xmlNode *of, const char *name, int n, double *v)
{
  const xmlNode *at = perp_xml_child(of, name);
  double own[16] = { 0 };
  if (at == NULL || perp_robot_refused(sdf->robot)) return 0;
  const int got = perp_xml_scan(sdf->robot, at, "the content", perp_xml_content(sdf->robot, at), n,
                                own);
  if (got == n)
    memcpy(v, own, (size_t)n * sizeof *v);
  else if (!perp_robot_refused(sdf->robot))
    perp_xml_refuse(sdf->robot, at, "write the others", "<%s> needs %d number%s: got %d", name, n,
                    n > 1 ? "s" : "", got);
  return got == n ? n : 0;
}

double perp_sdf_number(perp_sdf *sdf, const xmlNode *of, const char *name, double otherwise)
{
  double v = otherwise;
  const char *text = perp_sdf_text(sdf, of, name);
  /* bounds of joints may be written as what is no number elsewhere */
  static const char *const far[] = { "inf", "+inf", "-inf", "Infinity", "-Infinity" };
  for (int i = 0; i < 5; i++)
    if (strcmp(text, far[i]) == 0) return text[0] == '-' ? -1e16 : 1e16;
  return perp_sdf_numbers(sdf, of, name, 1, &v) == 1 ? v : otherwise;
}

bool perp_sdf_true(perp_sdf *sdf, const xmlNode *of, const char *name, bool otherwise)
{
  const char *text = perp_sdf_text(sdf, of, name);
  if (text[0] == '\0') return otherwise;
  return strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
}

void perp_sdf_pose(perp_sdf *sdf, const xmlNode *of, perp_tree_pose *pose, const char **relative_to)
{
  const xmlNode *at = perp_xml_child(of, "pose");
  double v[7] = { 0 };
  const char *base = at != NULL ? perp_xml_text(sdf->robot, at, "relative_to") : NULL;
  if (at != NULL && base == NULL) base = perp_xml_text(sdf->robot, at, "frame"); /* SDF 1.5, 1.6 */
  if (relative_to != NULL) *relative_to = base != NULL && base[0] != '\0' ? base : NULL;
  perp_tree_identity(pose);
  if (at == NULL || perp_xml_content(sdf->robot, at)[0] == '\0') return;
  const char *form = perp_xml_text(sdf->robot, at, "rotation_format"),
             *degrees = perp_xml_text(sdf->robot, at, "degrees");
  if (form != NULL && strcmp(form, "quat_xyzw") == 0) {
    if (perp_sdf_numbers(sdf, of, "pose", 7, v) == 0) return;
    const double size = sqrt(v[3] * v[3] + v[4] * v[4] + v[5] * v[5] + v[6] * v[6]);
    memcpy(pose->x, v, sizeof pose->x);
    for (int i = 0; i < 4 && size > 0; i++) pose->quat[i] = v[3 + (i + 3) % 4] / size;
    if (!(size > 0))
      perp_xml_refuse(sdf->robot, at, "write x y z w", "its quaternion has no length");
    return;
  }
  if (perp_sdf_numbers(sdf, of, "pose", 6, v) == 0) return;
  if (degrees != NULL && (strcmp(degrees, "true") == 0 || strcmp(degrees, "1") == 0))
    for (int i = 3; i < 6; i++) v[i] *= M_PI / 180;
  perp_tree_rpy(v, v + 3, pose);
}

void perp_sdf_rest(perp_sdf *sdf, const xmlNode *of, const char *const *read, const char *whose)
{
  for (const xmlNode *at = perp_xml_child(of, NULL); at != NULL; at = perp_xml_next(at, NULL)) {
    int i = 0;
    while (read[i] != NULL && !perp_xml_is(at, read[i])) i++;
    if (read[i] != NULL) continue;
    const char *name = perp_xml_text(sdf->robot, at, "name");
    perp_tree_say(
        &sdf->tree, true, perp_pool_printf(&sdf->robot->pool, "<%s>", (const char *)at->name),
        name != NULL ? perp_pool_printf(&sdf->robot->pool, "%s of %s", name, whose) : whose);
  }
}

/* ---- frames ---- */

const char *perp_sdf_join(perp_sdf *sdf, const char *scope, const char *name)
{
  return perp_pool_printf(&sdf->robot->pool, "%s%s", scope, name);
}

perp_sdf_frame *perp_sdf_absolute(const perp_sdf *sdf, const char *name)
{
  for (int frame = 0; frame < sdf->n_frames; frame++)
    if (strcmp(sdf->frame[frame].name, name) == 0) return &sdf->frame[frame];
  return NULL;
}

/* "MODEL" of "MODEL::" */
static const char *sdf_model_of(perp_sdf *sdf, const char *scope)
{
  const size_t n = strlen(scope);
  return n >= 2 ? perp_pool_strndup(&sdf->robot->pool, scope, n - 2) : "";
}

const char *perp_sdf_base(perp_sdf *sdf, const char *scope, const char *name)
{
  if (name == NULL || strcmp(name, "__model__") == 0) return sdf_model_of(sdf, scope);
  if (strcmp(name, "world") == 0) return "";
  return perp_sdf_join(sdf, scope, name);
}

perp_sdf_frame *perp_sdf_find(perp_sdf *sdf, const char *scope, const char *name, const xmlNode *at)
{
  perp_sdf_frame *frame = perp_sdf_absolute(sdf, perp_sdf_base(sdf, scope, name));
  if (frame == NULL && !perp_robot_refused(sdf->robot))
    perp_xml_refuse(sdf->robot, at, "use the name of a link, a joint, a frame or a model inside",
                    "there is no '%s'%s%s", name, scope[0] != '\0' ? " in model " : "",
                    scope[0] != '\0' ? sdf_model_of(sdf, scope) : "");
  return frame;
}

bool perp_sdf_resolve(perp_sdf *sdf, perp_sdf_frame *frame)
{
  enum { MOST = 1000 };
  perp_sdf_frame *way[MOST];
  int n = 0;
  for (perp_sdf_frame *at = frame; at != NULL && at->state != 2;) {
    if (at->state == 1 || n == MOST) {
      perp_xml_refuse(sdf->robot, at->at, "let one of them be relative to the model",
                      "the pose of '%s' depends on itself", at->name);
      return false;
    }
    at->state = 1;
    way[n++] = at;
    if (at->base[0] == '\0') break;
    perp_sdf_frame *base = perp_sdf_absolute(sdf, at->base);
    if (base == NULL) {
      perp_xml_refuse(sdf->robot, at->at, "use the name of an element of the model",
                      "the pose of '%s' is relative to '%s', which does not exist", at->name,
                      at->base);
      return false;
    }
    at = base;
  }
  while (n-- > 0) {
    const perp_sdf_frame *base = way[n]->base[0] != '\0' ? perp_sdf_absolute(sdf, way[n]->base)
                                                         : NULL;
    if (base != NULL) perp_tree_times(&base->pose, &way[n]->pose, &way[n]->pose);
    way[n]->state = 2;
  }
  return true;
}
