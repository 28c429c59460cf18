/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a URDF says that libmujoco does not read: it is listed, as it would be gone without a word.
 */
#include "experiments/import/mjcf.h"

#include <string.h>

enum { MOST_LINKS = 4096, VALUE = 200 };

typedef struct urdf_tag {
  const char *name, *inside; /* behind '<', behind the name */
  int n, n_inside;
  bool closes; /* </name> */
} urdf_tag;

/* The next tag from s on, which is moved behind it; comments and declarations are passed over. */
static bool urdf_next(const char **s, urdf_tag *tag)
{
  for (const char *at = *s; (at = strchr(at, '<')) != NULL;) {
    if (strncmp(at, "<!--", 4) == 0) {
      at = strstr(at, "-->");
      if (at == NULL) return false;
      continue;
    }
    if (at[1] == '?' || at[1] == '!') {
      at++;
      continue;
    }
    *tag = (urdf_tag){ .closes = at[1] == '/' };
    tag->name = at + 1 + tag->closes;
    tag->n = (int)strcspn(tag->name, " \t\r\n/>");
    const char *end = tag->inside = tag->name + tag->n;
    for (char quote = '\0'; *end != '\0' && (quote != '\0' || *end != '>'); end++)
      if (quote != '\0')
        quote = *end == quote ? '\0' : quote;
      else if (*end == '"' || *end == '\'')
        quote = *end;
    tag->n_inside = (int)(end - tag->inside);
    *s = end;
    return true;
  }
  return false;
}

static bool urdf_is(const urdf_tag *tag, const char *name)
{
  return (int)strlen(name) == tag->n && strncmp(tag->name, name, (size_t)tag->n) == 0;
}

/* The value of an attribute; "" where there is none. */
static const char *urdf_value(const urdf_tag *tag, const char *key, char value[VALUE])
{
  const int n = (int)strlen(key);
  value[0] = '\0';
  for (int i = 1; i + n < tag->n_inside; i++) {
    const char *s = tag->inside + i;
    if (strncmp(s, key, (size_t)n) != 0 || strchr(" \t\r\n", s[-1]) == NULL) continue;
    const char *at = s + n + strspn(s + n, " \t\r\n=");
    if (*at != '"' && *at != '\'') continue;
    const char *end = strchr(at + 1, *at);
    if (end == NULL || end > tag->inside + tag->n_inside) continue;
    snprintf(value, VALUE, "%.*s", (int)(end - at - 1), at + 1);
    break;
  }
  return value;
}

__attribute__((format(printf, 2, 3))) static void urdf_say(perp_mjcf *out, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  perp_text_vadd(&out->said, fmt, ap);
  perp_text_add(&out->said, "\n");
  va_end(ap);
}

static void urdf_in_joint(const urdf_tag *tag, const char *joint, perp_mjcf *out)
{
  char a[VALUE], b[VALUE];
  const bool mimic = urdf_is(tag, "mimic"), limit = urdf_is(tag, "limit");
  if (mimic)
    urdf_say(out, "lost: mimic of joint %s: in the URDF it follows joint %s, multiplied by %s",
             joint, urdf_value(tag, "joint", a),
             urdf_value(tag, "multiplier", b)[0] != '\0' ? b : "1");
  else if (limit &&
           (urdf_value(tag, "effort", a)[0] != '\0') + (urdf_value(tag, "velocity", b)[0] != '\0') >
               0)
    urdf_say(out, "lost: %s%s%s%s%s of joint %s: bounds of its actuator",
             a[0] != '\0' ? "largest effort " : "", a, a[0] != '\0' && b[0] != '\0' ? ", " : "",
             b[0] != '\0' ? "largest velocity " : "", b, joint);
  else if (urdf_is(tag, "safety_controller") || urdf_is(tag, "calibration"))
    urdf_say(out, "lost: %.*s of joint %s", tag->n, tag->name, joint);
  else
    return;
  out->lost++;
}

void perp_urdf_lost(const char *text, perp_mjcf *out)
{
  perp_pool pool = { 0 };
  perp_names links = { 0 };
  bool child[MOST_LINKS] = { false };
  char joint[VALUE] = "", value[VALUE];
  urdf_tag tag;
  const char *s = text;
  if (!urdf_next(&s, &tag) || !urdf_is(&tag, "robot")) return;
  while (urdf_next(&s, &tag)) {
    const bool outside = urdf_is(&tag, "transmission") || urdf_is(&tag, "gazebo");
    if (tag.closes) {
      if (urdf_is(&tag, "joint")) joint[0] = '\0';
    } else if (outside) {
      const char *whose = urdf_value(&tag, urdf_is(&tag, "gazebo") ? "reference" : "name", value);
      urdf_say(out, "lost: %.*s %s", tag.n, tag.name, whose);
      out->lost++;
      if (tag.n_inside > 0 && tag.inside[tag.n_inside - 1] == '/') continue;
      const int n = tag.n;
      const char *const name = tag.name;
      while (urdf_next(&s, &tag) &&
             !(tag.closes && tag.n == n && strncmp(tag.name, name, (size_t)n) == 0)) {}
    } else if (urdf_is(&tag, "joint")) {
      urdf_value(&tag, "name", joint);
    } else if (urdf_is(&tag, "link") || (urdf_is(&tag, "child") && joint[0] != '\0')) {
      const bool link = urdf_is(&tag, "link");
      const int i = perp_names_index(
          &pool, &links, perp_pool_strdup(&pool, urdf_value(&tag, link ? "name" : "link", value)),
          MOST_LINKS - 1);
      if (i >= 0 && !link) child[i] = true;
    } else if (joint[0] != '\0')
      urdf_in_joint(&tag, joint, out);
  }
  for (int i = 0; i < links.n; i++)
    if (!child[i])
      urdf_say(out, "note: link %s is connected to no joint: it is a part of the world",
               links.text[i]);
  perp_pool_free(&pool);
}
