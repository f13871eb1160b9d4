/** `npm run test:skew`: each way in which old and new code can meet. */
import { defineConfig } from "vitest/config";
import { root } from "../projects/shared.ts";
import skew from "../projects/skew.ts";

export default defineConfig({ root, test: { projects: skew } });
