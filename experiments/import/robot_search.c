/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/import/robot_search.h"

#include "experiments/base/files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_FOLDERS = 64, MOST_PARENTS = 8 };

typedef struct search_place {
  const char *path; /* all links followed */
  bool up;          /* the folder of the file, or above it */
} search_place;

typedef struct search {
  perp_robot *robot;
  search_place place[MOST_FOLDERS]; /* folders within which files may be */
  int n, n_named;                   /* the first n_named: of paths */
  bool folder;                      /* a folder is looked for, not a file */
  bool outside;                     /* something was there, but outside */
  perp_text tried;                  /* for the message */
} search;

const char *perp_robot_folder(perp_robot *robot, const char *path)
{
  const char *slash = strrchr(path, '/');
  if (slash == NULL) return ".";
  return slash == path ? "/" : perp_pool_strndup(&robot->pool, path, (size_t)(slash - path));
}

static const char *search_real(perp_robot *robot, const char *path)
{
  char *whole = perp_real_path(path);
  const char *kept = whole != NULL ? perp_pool_strdup(&robot->pool, whole) : NULL;
  free(whole);
  return kept;
}

static const char *search_base(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

static bool search_has(const search *work, const char *folder, const char *name)
{
  struct stat st;
  const char *path = perp_pool_printf(&work->robot->pool, "%s/%s", folder, name);
  return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static void search_add(search *work, const char *path, bool up)
{
  const char *real = search_real(work->robot, path);
  if (real == NULL || work->n == MOST_FOLDERS) return;
  work->place[work->n++] = (search_place){ real, up };
}

/* The folders of a list DIR[:DIR]; below: what is added to each. */
static void search_add_list(search *work, const char *variable, const char *below)
{
  const char *list = getenv(variable);
  for (size_t n; list != NULL && *list != '\0'; list += n + (list[n] == ':')) {
    n = strcspn(list, ":");
    if (n > 0)
      search_add(work, perp_pool_printf(&work->robot->pool, "%.*s%s", (int)n, list, below), false);
  }
}

/* The parent of a folder whose links are followed; NULL: it is the root. */
static const char *search_parent(perp_robot *robot, const char *folder)
{
  return folder[0] != '/' || folder[1] == '\0' ? NULL : perp_robot_folder(robot, folder);
}

static void search_begin(search *work, perp_robot *robot, bool folder)
{
  *work = (search){ .robot = robot, .folder = folder };
  search_add_list(work, "PERP_PACKAGE_PATH", "");
  search_add_list(work, "ROS_PACKAGE_PATH", "");
  search_add_list(work, "AMENT_PREFIX_PATH", "/share");
  search_add_list(work, "GAZEBO_MODEL_PATH", "");
  search_add_list(work, "GZ_SIM_RESOURCE_PATH", "");
  work->n_named = work->n;
  /* through links to the file itself: its meshes are beside it */
  const char *own = search_real(robot, robot->path);
  const char *at = own != NULL ? perp_robot_folder(robot, own) : NULL, *package = NULL;
  static const char *const inner[] = { "urdf", "sdf", "mjcf", "robots" };
  for (size_t i = 0; at != NULL && i < sizeof inner / sizeof *inner; i++)
    if (strcmp(search_base(at), inner[i]) == 0) package = search_parent(robot, at);
  const char *up = at;
  for (int i = 0; up != NULL && i < MOST_PARENTS; i++, up = search_parent(robot, up))
    if (search_has(work, up, "package.xml") || search_has(work, up, "model.config")) {
      package = up;
      break;
    }
  for (up = at; up != NULL; up = search_parent(robot, up)) {
    search_add(work, up, true);
    if (package == NULL || strcmp(up, package) == 0) break;
  }
  /* named through a link: what is beside the link, too */
  const char *linked = perp_robot_folder(robot, robot->path), *real = search_real(robot, linked);
  if (real != NULL && (at == NULL || strcmp(real, at) != 0)) search_add(work, linked, true);
}

static bool search_within(const search *work, const char *path)
{
  for (int place = 0; place < work->n; place++) {
    const char *folder = work->place[place].path;
    const size_t n = strlen(folder);
    if (n == 1 || (strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0')))
      return true;
  }
  return false;
}

/* The file, if it is there and inside. */
static const char *search_try(search *work, const char *folder, const char *name)
{
  struct stat st;
  const char *path = name[0] == '/' ? name
                                    : perp_pool_printf(&work->robot->pool, "%s/%s", folder, name);
  const char *real = search_real(work->robot, path);
  if (real == NULL || stat(real, &st) != 0) {
    if (work->tried.n < 600)
      perp_text_add(&work->tried, "%s%s", work->tried.n > 0 ? ", " : "", path);
    return NULL;
  }
  if (!(work->folder ? S_ISDIR(st.st_mode) : S_ISREG(st.st_mode))) return NULL;
  if (search_within(work, real)) return real;
  work->outside = true;
  return NULL;
}

/* Is this folder that package: by its name, or by what its package.xml says? */
static bool search_called(const search *work, const char *folder, const char *name, size_t n)
{
  const char *base = search_base(folder);
  if (strlen(base) == n && strncmp(base, name, n) == 0) return true;
  if (!search_has(work, folder, "package.xml")) return false;
  size_t size = 0;
  const char *why = NULL, *file = perp_pool_printf(&work->robot->pool, "%s/package.xml", folder);
  char *text = perp_read_input(file, &size, &why);
  const char *at = text != NULL ? strstr(text, "<name>") : NULL;
  bool same = false;
  if (at != NULL) {
    at += 6 + strspn(at + 6, " \t\r\n");
    same = strncmp(at, name, n) == 0 && strchr("< \t\r\n", at[n]) != NULL && at[n] != '\0';
  }
  if (same) perp_robot_read_file(work->robot, file); /* so that a copy is found as this one is */
  free(text);
  return same;
}

/* NAME/x of package:// and model:// */
static const char *search_package(search *work, const char *folder, const char *whole)
{
  const size_t n = strcspn(whole, "/");
  const char *rest = whole[n] == '/' ? whole + n + 1 : "", *found = NULL;
  if (rest[0] == '\0' && !work->folder) return NULL;
  if (rest[0] == '\0') rest = ".";
  for (int place = 0; place < work->n_named && found == NULL; place++) {
    const char *dir = work->place[place].path;
    found = search_try(work, dir, whole);
    if (found == NULL)
      found = search_try(work, dir, perp_pool_printf(&work->robot->pool, "share/%s", whole));
    if (found == NULL && search_called(work, dir, whole, n)) found = search_try(work, dir, rest);
  }
  for (int place = work->n_named; place < work->n && found == NULL; place++)
    if (search_called(work, work->place[place].path, whole, n))
      found = search_try(work, work->place[place].path, rest);
  for (int place = work->n_named; place < work->n && found == NULL; place++) {
    found = search_try(work, work->place[place].path, whole);
    if (found == NULL && !work->folder) found = search_try(work, work->place[place].path, rest);
  }
  if (found == NULL && !work->folder) found = search_try(work, folder, search_base(rest));
  return found;
}

static const char *search_relative(search *work, const char *folder, const char *name)
{
  const char *found = search_try(work, folder, name);
  for (int k = 0; k < 2; k++) /* beside the file and above it, then in the paths */
    for (int place = 0; place < work->n && found == NULL; place++)
      if (work->place[place].up == (k == 0))
        found = search_try(work, work->place[place].path, name);
  if (found == NULL && !work->folder) found = search_try(work, folder, search_base(name));
  return found;
}

static const char *search_any(search *work, const char *folder, const char *name)
{
  static const char *const schemes[] = { "package://", "model://" };
  for (int i = 0; i < 2; i++)
    if (strncmp(name, schemes[i], strlen(schemes[i])) == 0)
      return search_package(work, folder, name + strlen(schemes[i]));
  if (strncmp(name, "file://", 7) == 0) name += 7;
  if (name[0] == '\0' || strstr(name, "://") != NULL) return NULL;
  return name[0] == '/' ? search_try(work, "", name) : search_relative(work, folder, name);
}

static const char *search_run(perp_robot *robot, const char *folder, const char *name, bool dir)
{
  search work;
  search_begin(&work, robot, dir);
  const char *found = search_any(&work, folder, name);
  perp_text_free(&work.tried);
  return found;
}

const char *perp_robot_search(perp_robot *robot, const char *folder, const char *name)
{
  return search_run(robot, folder, name, false);
}

const char *perp_robot_search_folder(perp_robot *robot, const char *folder, const char *name)
{
  return search_run(robot, folder, name, true);
}

const char *perp_robot_find(perp_robot *robot, const char *folder, const char *name,
                            const char *what, const char *at_file, int at_line)
{
  search work;
  search_begin(&work, robot, false);
  const char *found = search_any(&work, folder, name);
  const bool package = strncmp(name, "package://", 10) == 0 || strncmp(name, "model://", 8) == 0;
  const char *of = package ? strstr(name, "//") + 2 : "";
  const char *hint = package ? perp_pool_printf(&robot->pool,
                                                "--package-path DIR names the folder that %.*s is "
                                                "in",
                                                (int)strcspn(of, "/"), of)
                             : "put the file beside the robot's, or name its folder with "
                               "--package-path DIR";
  if (found == NULL && work.outside)
    perp_robot_refuse(robot, at_file, at_line,
                      "--package-path DIR allows a folder; all files of DIR may then be read",
                      "%s %s is outside of the folder of the robot and of its package", what, name);
  else if (found == NULL)
    perp_robot_refuse(robot, at_file, at_line, hint, "%s %s is not found%s%s", what, name,
                      work.tried.n > 0 ? ": there is no " : "",
                      work.tried.n > 0 ? work.tried.s : "");
  perp_text_free(&work.tried);
  return found;
}

bool perp_package_path_set(const char *list, char **bad)
{
  perp_text whole = { 0 };
  *bad = NULL;
  for (size_t n; *list != '\0'; list += n + (list[n] == ':')) {
    struct stat st;
    n = strcspn(list, ":");
    if (n == 0) continue;
    char *dir = perp_xprintf("%.*s", (int)n, list), *real = perp_real_path(dir);
    if (real == NULL || stat(real, &st) != 0 || !S_ISDIR(st.st_mode)) {
      free(real);
      perp_text_free(&whole);
      *bad = dir;
      return false;
    }
    perp_text_add(&whole, "%s%s", whole.n > 0 ? ":" : "", real);
    free(real);
    free(dir);
  }
  setenv("PERP_PACKAGE_PATH", whole.s != NULL ? whole.s : "", 1);
  perp_text_free(&whole);
  return true;
}
