/** The size of a test: a part for every change, all of it at night (CONTRIBUTING.md). */
import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    isNightly: boolean;
  }
}

export const sized = <Size>(every: Size, nightly: Size): Size =>
  inject("isNightly") ? nightly : every;
