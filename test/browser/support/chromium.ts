/**
 * The path of Chromium: CHROMIUM_PATH, or the package of the distribution. The headless shell has the same
 * engine without a desktop browser around it, and takes two thirds of the processor time.
 */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

const NAMES = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

/** Returns the path of Chromium, or undefined if there is none. */
export function findChromium(): string | undefined {
  const { CHROMIUM_PATH, PATH = "" } = process.env;
  if (CHROMIUM_PATH) return CHROMIUM_PATH;
  const folders = PATH.split(delimiter);
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(existsSync);
}

/** CI requires Chromium, so that its absence cannot pass for success. */
export const browserIsThere =
  process.env.AUSPEX_REQUIRE_BROWSER === "1" || findChromium() !== undefined;
