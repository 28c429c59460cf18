/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/models.h"

int main(void) { return 0; }
