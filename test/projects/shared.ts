import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../", import.meta.url));

/** By itself vitest takes one less than there are processors, and two are all that CI has. */
export const WORKERS = 2;
