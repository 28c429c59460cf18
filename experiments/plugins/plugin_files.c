/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/plugins/plugin_files.h"
#include "experiments/base/shell.h"
#include "experiments/plugins/python_solver.h"
#include "experiments/scenes/scene_file.h"
#include "experiments/base/fence.h"
#include "experiments/base/files.h"
#include "solvers/core/input.h"
#include "solvers/core/shown.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_FILES = PERP_MAX_TABLES, TRIAL_SECONDS = 10 };
static perp_plugin_file files[MOST_FILES];
static int n_files;

const perp_plugin_file *perp_plugin_file_at(int i)
{
  return i >= 0 && i < n_files ? &files[i] : NULL;
}

const perp_plugin_file *perp_plugin_file_of(const perp_desc *desc)
{
  for (int file = 0; file < n_files; file++)
    for (const perp_plugin *plugin = files[file].content->plugins; plugin->kind != PERP_KIND_NONE;
         plugin++)
      if (plugin->d == desc) return &files[file];
  return NULL;
}

/* A file that is no plug-in as it should be: the status. */
#define REFUSED(...) PERP_FAIL(ctx, PERP_ERR_FORMAT, __VA_ARGS__)

/* ---- checks: what the file says about itself ---- */

static perp_status check_layout(perp_ctx *ctx, const char *path, const perp_outside *outside)
{
  static const perp_layout here[] = PERP_LAYOUT;
  for (const perp_layout *layout = here; layout->what != NULL; layout++) {
    const perp_layout *there = outside->layout;
    while (there->what != NULL && strcmp(there->what, layout->what) != 0) there++;
    if (there->what == NULL)
      return REFUSED("%s was built with another version of perp, which lacks %s; build it again",
                     path, layout->what);
    if (there->size != layout->size)
      return REFUSED("%s was built with another version of perp: %s has %zu bytes there and %zu "
                     "here; build it again",
                     path, layout->what, there->size, layout->size);
  }
  return PERP_OK;
}

static bool good_name(const char *text)
{
  if (text == NULL || !islower((unsigned char)*text)) return false;
  for (; *text != '\0'; text++)
    if (!islower((unsigned char)*text) && !isdigit((unsigned char)*text) &&
        strchr("-_.:", *text) == NULL)
      return false;
  return true;
}

/* What a descriptor of each kind must have: functions, and texts of metrics. */
/* clang-format off */
#define NEEDS(kind, member) { PERP_KIND_##kind, offsetof(perp_##kind##_desc, member), #member }
static const struct {
  perp_kind kind;
  size_t at;
  const char *name;
} needed[] = {
  NEEDS(ode, create), NEEDS(ode, step), NEEDS(ode, destroy),
  NEEDS(kkt, create), NEEDS(kkt, factor), NEEDS(kkt, solve), NEEDS(kkt, destroy),
  NEEDS(lcp, create), NEEDS(lcp, solve), NEEDS(lcp, destroy),
  NEEDS(stab, create), NEEDS(stab, destroy),
  NEEDS(contact, rows), NEEDS(contact, fits), NEEDS(contact, create), NEEDS(contact, solve),
  NEEDS(contact, observe), NEEDS(contact, destroy),
  NEEDS(formulation, create), NEEDS(formulation, restart), NEEDS(formulation, step),
  NEEDS(formulation, state), NEEDS(formulation, counters), NEEDS(formulation, timing),
  NEEDS(formulation, destroy),
  NEEDS(scene, build),
  NEEDS(metric, value), NEEDS(metric, unit), NEEDS(metric, better),
  NEEDS(force, force), NEEDS(joint, rows), NEEDS(engine, calls),
};
/* clang-format on */

static const char *missing_member(perp_kind kind, const perp_desc *desc)
{
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
    void (*member)(void); /* of any type: only whether it is there */
    if (needed[i].kind != kind) continue;
    memcpy(&member, (const char *)desc + needed[i].at, sizeof member);
    if (member == NULL) return needed[i].name;
  }
  return NULL;
}

/* Forces and joints: how many bodies, where they exist. */
static perp_status check_element(perp_ctx *ctx, const char *path, const perp_plugin *plugin)
{
  const perp_force_desc *force = (const perp_force_desc *)(const void *)plugin->d;
  const perp_joint_desc *joint = (const perp_joint_desc *)(const void *)plugin->d;
  const bool forces = plugin->kind == PERP_KIND_force;
  if (!forces && plugin->kind != PERP_KIND_joint) return PERP_OK;
  const int least = forces ? force->bodies_min : joint->bodies_min,
            most = forces ? force->bodies_max : joint->bodies_max;
  const char *name = plugin->d->name;
  if (least < 1 || most < least || most > PERP_ELEMENT_BODIES)
    return REFUSED("%s: %s: bodies_min and bodies_max must be 1 to %d: got %d and %d", path, name,
                   PERP_ELEMENT_BODIES, least, most);
  if ((forces ? force->own : joint->own) != 0)
    return REFUSED("%s: %s: own is reserved for joints included in perp", path, name);
  if (!(plugin->d->caps & (PERP_FORCE_IN_SPACE | PERP_FORCE_IN_PLANE)))
    return REFUSED("%s: %s: declares neither IN_SPACE nor IN_PLANE", path, name);
  if (!forces && (joint->evaluate == NULL) == (joint->at_time == NULL))
    return REFUSED("%s: joint %s has %s evaluate %s at_time: exactly one of them is needed", path,
                   name, joint->evaluate == NULL ? "neither" : "both",
                   joint->evaluate == NULL ? "nor" : "and");
  if (!forces && joint->at_time != NULL && (joint->bias != NULL || joint->prescribed != NULL))
    return REFUSED("%s: joint %s: at_time excludes bias and prescribed", path, name);
  if (forces && plugin->d->caps & PERP_FORCE_CONSERVATIVE && force->energy == NULL)
    return REFUSED("%s: %s: declares CONSERVATIVE, but has no energy function", path, name);
  return PERP_OK;
}

static perp_status check_options(perp_ctx *ctx, const char *path, const perp_desc *desc)
{
  if ((desc->opts == NULL) != (desc->opts_size == 0))
    return REFUSED("%s: %s: opts and opts_size must be set together", path, desc->name);
  for (const perp_opt *opt = desc->opts; opt != NULL && opt->type != PERP_OPT_END; opt++) {
    if (opt->key == NULL || opt->unit == NULL || opt->help == NULL || opt->type > PERP_OPT_TEXT ||
        opt->offset >= desc->opts_size || (opt->type == PERP_OPT_ENUM && opt->choices == NULL) ||
        (opt->type == PERP_OPT_TEXT && opt->text == NULL))
      return REFUSED("%s: %s: option %s is incomplete", path, desc->name,
                     opt->key != NULL ? opt->key : "without a key");
    if (!perp_shown_all(opt->key) || !perp_shown_all(opt->unit) || !perp_shown_all(opt->help))
      return REFUSED("%s: %s: an option has a control character in its texts; remove it", path,
                     desc->name);
    bool number = opt->type == PERP_OPT_REAL || opt->type == PERP_OPT_INT;
    if (number && !(opt->dflt >= opt->min && opt->dflt <= opt->max))
      return REFUSED("%s: %s.%s: the default %g is outside of its range", path, desc->name,
                     opt->key, opt->dflt);
  }
  return PERP_OK;
}

static perp_status check_descriptors(perp_ctx *ctx, const char *path, const perp_outside *outside)
{
  if (outside->plugins == NULL || outside->plugins->kind == PERP_KIND_NONE)
    return REFUSED("%s lists no plug-in", path);
  for (const perp_plugin *p = outside->plugins; p->kind != PERP_KIND_NONE; p++) {
    if (p->kind < 0 || p->kind >= PERP_KIND_COUNT || p->d == NULL)
      return REFUSED("%s: entry %d of its list is not a plug-in", path,
                     (int)(p - outside->plugins));
    const char *kind = perp_kind_name(p->kind);
    if (p->kind == PERP_KIND_controller)
      return REFUSED("%s: controllers cannot be plug-ins; only those included in perp exist", path);
    if (!good_name(p->d->name))
      return REFUSED(
          "%s: the name of a %s must consist of lower-case letters, digits and -_.: got '%s'", path,
          kind, p->d->name != NULL ? p->d->name : "(none)");
    if (perp_find(ctx, p->kind, p->d->name) != NULL)
      return REFUSED("%s: a %s '%s' exists already; choose another name", path, kind, p->d->name);
    for (const perp_plugin *k = outside->plugins; k < p; k++)
      if (k->kind == p->kind && strcmp(k->d->name, p->d->name) == 0)
        return REFUSED("%s: lists the %s '%s' twice", path, kind, p->d->name);
    if (p->d->summary == NULL || p->d->reference == NULL)
      return REFUSED("%s: %s needs a summary and a reference", path, p->d->name);
    if (!perp_shown_all(p->d->summary) || !perp_shown_all(p->d->reference))
      return REFUSED("%s: %s: its summary or reference has a control character; remove it", path,
                     p->d->name);
    const char *missing = missing_member(p->kind, p->d);
    if (missing != NULL) return REFUSED("%s: %s %s has no %s", path, kind, p->d->name, missing);
    PERP_TRY(check_options(ctx, path, p->d));
    PERP_TRY(check_element(ctx, path, p));
  }
  return PERP_OK;
}

static perp_status open_and_check(perp_ctx *ctx, const char *path, const perp_outside **out)
{
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) {
    const char *why = dlerror();
    return REFUSED("cannot load %s", why != NULL ? why : path);
  }
  const perp_outside *outside = dlsym(handle, "perp_outside_plugin");
  if (outside == NULL || outside->magic != PERP_OUTSIDE_MAGIC)
    return REFUSED(
        "%s is not a plug-in of perp: it does not end in PERP_OUTSIDE (docs/how-to/plugins.md)",
        path);
  if (outside->abi != PERP_ABI)
    return REFUSED(
        "%s was built for interface version %d, but this perp has version %d; build it again", path,
        outside->abi, PERP_ABI);
  PERP_TRY(check_layout(ctx, path, outside));
  PERP_TRY(check_descriptors(ctx, path, outside));
  *out = outside;
  return PERP_OK;
}

/* Bytes that loading a plug-in may take. */
static const double trial_memory = 1 << 30;

/* Constructors and descriptors of a broken file may do anything: look at it from a child first. */
static perp_status try_in_child(perp_ctx *ctx, const char *path)
{
  perp_fence fence;
  int *looked = mmap(NULL, sizeof *looked, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                     0);
  if (looked == MAP_FAILED)
    return PERP_FAIL(ctx, PERP_ERR_IO, "no shared memory: %s", strerror(errno));
  fflush(NULL);
  perp_fence_open(&fence);
  const pid_t parent = getpid(), pid = fork();
  if (pid == 0) {
    const perp_outside *outside;
    perp_fence_enter();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    perp_fence_memory(trial_memory, false);
    alarm(TRIAL_SECONDS);
    open_and_check(ctx, path, &outside);
    *looked = 1; /* any other end, with status 0 or another one, is that of the file */
    _exit(0);
  }
  int status = 0;
  const int why = errno;
  while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  perp_fence_close(&fence);
  const bool done = *looked == 1;
  munmap(looked, sizeof *looked);
  if (pid < 0) return PERP_FAIL(ctx, PERP_ERR_IO, "fork: %s", strerror(why));
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    return REFUSED("%s takes more than %d s to load", path, TRIAL_SECONDS);
  if (WIFSIGNALED(status))
    return REFUSED("%s crashes while it is loaded: signal %d (%s); it has 1 GiB of memory then",
                   path, WTERMSIG(status), strsignal(WTERMSIG(status)));
  return done ? PERP_OK : REFUSED("%s ends the program while it is loaded", path);
}

/* ---- loading ---- */

static perp_status open_object(perp_ctx *ctx, const char *path, const perp_outside **out)
{
  PERP_TRY(try_in_child(ctx, path));
  perp_fence fence; /* of what it starts while it is loaded */
  perp_fence_open(&fence);
  perp_fence_memory(trial_memory, true);
  const perp_status status = open_and_check(ctx, path, out);
  perp_fence_memory_end();
  perp_fence_close(&fence);
  return status;
}

/* A process of its own as it is. */
static perp_status open_python(perp_ctx *ctx, const char *path, const perp_outside **out)
{
  PERP_TRY(perp_python_open(ctx, path, TRIAL_SECONDS, out));
  return check_descriptors(ctx, path, *out);
}

const char *perp_plugin_suffix(const char *path)
{
  const char *dot = strrchr(path, '.');
  return dot != NULL && strcmp(dot, ".py") == 0 ? ".py" : ".so";
}

/* A file may be loaded by one context, and be known to others, too. */
static perp_status make_known(perp_ctx *ctx, const perp_outside *content)
{
  for (int table = 0; table < ctx->n_tables; table++)
    if (ctx->tables[table] == content->plugins) return PERP_OK;
  return perp_register(ctx, content->plugins);
}

static perp_status load_file(perp_ctx *ctx, const char *path, bool named, bool by_hand)
{
  size_t size = 0;
  char *whole = perp_real_path(path);
  char *bytes = whole != NULL ? perp_read_file(whole, &size) : NULL;
  const perp_outside *content = NULL;
  perp_status status = PERP_OK;
  int file = 0;
  while (bytes != NULL && file < n_files && strcmp(files[file].path, whole) != 0) file++;
  if (bytes == NULL)
    status = PERP_FAIL(ctx, PERP_ERR_IO, "cannot read the plug-in %s: %s", path,
                       perp_input_why(errno));
  else if (file == MOST_FILES)
    status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "more than %d plug-in files", MOST_FILES);
  else if (file < n_files && files[file].hash != perp_hash64(bytes, size, 0))
    status = REFUSED("%s has changed since this process loaded it; start the process again", path);
  else if (file < n_files) {
    files[file].named = files[file].named || named;
    files[file].by_hand = files[file].by_hand || by_hand;
    status = make_known(ctx, files[file].content);
  } else {
    char *kept = perp_xstrdup(whole);
    status = strcmp(perp_plugin_suffix(whole), ".py") == 0 ? open_python(ctx, kept, &content)
                                                           : open_object(ctx, kept, &content);
    if (status == PERP_OK) status = perp_register(ctx, content->plugins);
    if (status == PERP_OK)
      files[n_files++] = (perp_plugin_file){ kept, perp_hash64(bytes, size, 0), named, by_hand,
                                             content };
    else
      free(kept);
  }
  free(bytes);
  free(whole);
  return status;
}

perp_status perp_plugin_load(perp_ctx *ctx, const char *path, bool named)
{
  return load_file(ctx, path, named, named);
}

/* Its absolute path, and the hash of its bytes. */
static perp_status look_at(perp_ctx *ctx, const char *path, char **whole, uint64_t *hash)
{
  size_t size = 0;
  *whole = perp_real_path(path);
  char *bytes = *whole != NULL ? perp_read_file(*whole, &size) : NULL;
  if (bytes != NULL) {
    *hash = perp_hash64(bytes, size, 0);
    free(bytes);
    return PERP_OK;
  }
  const perp_status status = PERP_FAIL(ctx, PERP_ERR_IO, "cannot read the plug-in %s: %s", path,
                                       perp_input_why(errno));
  free(*whole);
  *whole = NULL;
  return status;
}

/* Which plug-in files this user has run by studies: a line "hash path" each, in a file of the
 * user's own.  A results folder is data, and data cannot add to it. */

/* Its folder; NULL: there is no home. */
static char *known_folder(void)
{
  const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
  if (state != NULL && state[0] == '/') return perp_xprintf("%s/perp", state);
  if (home != NULL && home[0] == '/') return perp_xprintf("%s/.local/state/perp", home);
  return NULL;
}

static char *known_line(const char *path, uint64_t hash)
{
  return perp_xprintf("%016llx %s\n", (unsigned long long)hash, path);
}

/* A whole line of the text. */
static bool known_has(const char *text, const char *line)
{
  for (const char *at = text; at != NULL && *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n')
    if (strncmp(at, line, strlen(line)) == 0) return true;
  return false;
}

/* Has this user run a study, not one of a results folder, that names the file of this absolute
 * path, when its bytes had this hash?  A results folder names files as well, whoever made it; what
 * is remembered is in $XDG_STATE_HOME/perp/plugins (~/.local/state). */
static bool known_is(const char *path, uint64_t hash)
{
  char *folder = known_folder(), *line = known_line(path, hash);
  char *file = folder != NULL ? perp_xprintf("%s/plugins", folder) : NULL;
  char *text = file != NULL ? perp_read_file(file, NULL) : NULL;
  const bool known = strchr(path, '\n') == NULL && known_has(text, line);
  free(text);
  free(file);
  free(line);
  free(folder);
  return known;
}

/* Remember it.  Where that cannot be written, nothing is remembered, and commands that read a
 * results folder ask for
 * --plugin. */
static void known_remember(const char *path, uint64_t hash)
{
  char *folder = known_folder();
  perp_ctx quiet;
  perp_ctx_init(&quiet);
  if (folder != NULL && strchr(path, '\n') == NULL && !known_is(path, hash) &&
      perp_make_dirs(&quiet, folder) == PERP_OK) {
    char *file = perp_xprintf("%s/plugins", folder), *line = known_line(path, hash);
    FILE *stream = fopen(file, "ae"); /* a line at once: several may write */
    if (stream != NULL) {
      fputs(line, stream);
      fclose(stream);
    }
    free(file);
    free(line);
  }
  free(folder);
}

perp_status perp_plugin_load_named(perp_ctx *ctx, const char *path, bool received, char **kept)
{
  uint64_t hash = 0;
  /* The file that --plugin has loaded under the name of this one. */
  const perp_plugin_file *found = NULL;
  char *name = perp_base_name(path, "");
  for (int file = 0; file < n_files && found == NULL; file++) {
    char *other = perp_base_name(files[file].path, "");
    if (files[file].by_hand && strcmp(name, other) == 0) found = &files[file];
    free(other);
  }
  free(name);
  const perp_plugin_file *by_hand = found;
  *kept = NULL;
  if (by_hand != NULL) {
    *kept = perp_xstrdup(by_hand->path);
    if (!received) known_remember(by_hand->path, by_hand->hash);
    return PERP_OK;
  }
  PERP_TRY(look_at(ctx, path, kept, &hash));
  perp_status status = PERP_OK;
  if (received && !known_is(*kept, hash))
    status = PERP_FAIL(ctx, PERP_ERR_FORMAT,
                       "the plug-in %s is named in a folder, but you have not run this version of "
                       "it: it is not loaded; if you trust it, use --plugin FILE",
                       *kept);
  if (status == PERP_OK) status = load_file(ctx, *kept, true, false);
  if (status == PERP_OK) {
    if (!received) known_remember(*kept, hash);
    return PERP_OK;
  }
  free(*kept);
  *kept = NULL;
  return status;
}

static int is_object(const struct dirent *entry)
{
  size_t n = strlen(entry->d_name);
  return n > 3 && strcmp(entry->d_name + n - 3, ".so") == 0;
}

static perp_status load_folder(perp_ctx *ctx, const char *dir)
{
  struct dirent **entry = NULL;
  int n = scandir(dir, &entry, is_object, alphasort);
  perp_status status = PERP_OK;
  for (int i = 0; i < n; i++) {
    char *path = perp_xprintf("%s/%s", dir, entry[i]->d_name);
    if (status == PERP_OK) status = perp_plugin_load(ctx, path, false);
    free(path);
    free(entry[i]);
  }
  free(entry);
  return status;
}

perp_status perp_plugin_load_path(perp_ctx *ctx, const char *list)
{
  while (*list != '\0') {
    size_t n = strcspn(list, ":");
    char *path = perp_xprintf("%.*s", (int)n, list);
    struct stat st;
    perp_status status = PERP_OK;
    if (n > 0 && stat(path, &st) == 0)
      status = S_ISDIR(st.st_mode) ? load_folder(ctx, path) : perp_plugin_load(ctx, path, false);
    free(path);
    PERP_TRY(status);
    list += n + (list[n] == ':');
  }
  return PERP_OK;
}

/* ---- what a run remembers ---- */

void perp_plugin_arguments(perp_text *out)
{
  for (int file = 0; file < n_files; file++) {
    if (!files[file].named) continue;
    perp_text_add(out, " --plugin ");
    perp_shell_path(out, files[file].path);
  }
}

/* Does a scene file have forces or joints of this plug-in file? */
static bool plugin_files_scene_uses(const perp_desc *scene, const perp_plugin_file *file)
{
  for (const perp_plugin *plugin = file->content->plugins; plugin->kind != PERP_KIND_NONE; plugin++)
    if ((plugin->kind == PERP_KIND_force &&
         perp_scene_file_uses(scene, "forces", plugin->d->name)) ||
        (plugin->kind == PERP_KIND_joint && perp_scene_file_uses(scene, "joints", plugin->d->name)))
      return true;
  return false;
}

void perp_plugin_code(const perp_ctx *ctx, const perp_study *study, const perp_cell *cell,
                      char code[17])
{
  code[0] = '\0';
  uint64_t hash = 0;
  perp_ctx quiet = *ctx;
  bool any = false;
  for (int param = 0; param < study->n_params; param++) {
    perp_spec spec;
    const bool file = study->kind->params[param].type == PERP_PARAM_PLUGIN &&
                      study->kind->params[param].plugin == PERP_KIND_scene &&
                      perp_scene_file_named(cell->value[param].text);
    if ((n_files == 0 && !file) || study->kind->params[param].type != PERP_PARAM_PLUGIN ||
        cell->value[param].text[0] == '\0' ||
        perp_spec_parse(&quiet, study->kind->params[param].plugin, cell->value[param].text,
                        &spec) != PERP_OK)
      continue;
    const perp_plugin_file *plugin_file = perp_plugin_file_of(spec.d);
    if (plugin_file != NULL) {
      hash = perp_hash64(&plugin_file->hash, sizeof plugin_file->hash, hash);
      any = true;
    }
    for (int i = 0; file && i < n_files; i++)
      if (plugin_files_scene_uses(spec.d, &files[i])) {
        hash = perp_hash64(&files[i].hash, sizeof files[i].hash, hash);
        any = true;
      }
    const uint64_t scene = file ? perp_scene_file_hash(spec.d) : 0;
    if (scene != 0) {
      hash = perp_hash64(&scene, sizeof scene, hash);
      any = true;
    }
    perp_spec_free(&spec);
  }
  if (any) snprintf(code, 17, "%016llx", (unsigned long long)hash);
}
