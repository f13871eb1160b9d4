/** The size of a test: a part for every change, all of it at night (CONTRIBUTING.md). */
import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    isNightly: boolean;
  }
}

export const sized = (every: number, nightly: number): number =>
  inject("isNightly") ? nightly : every;
