// A model that reads its weights before it serves, and tries to change them, which must fail.

import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  unlinkSync,
} from "node:fs";
import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./cog.mjs";

const { WEIGHTS = "", FOLDER = "" } = process.env;

const code = (act) => {
  try {
    act();
    return "done";
  } catch (error) {
    return error.code;
  }
};

const found = {
  file: readFileSync(WEIGHTS, "utf8"),
  names: readdirSync(FOLDER, { recursive: true }).sort(),
  mode: statSync(WEIGHTS).mode & 0o777,
  user: process.getuid(),
  append: code(() => appendFileSync(WEIGHTS, "x")),
  chmod: code(() => chmodSync(WEIGHTS, 0o777)),
  remove: code(() => unlinkSync(WEIGHTS)),
  add: code(() => mkdirSync(`${FOLDER}/more`)),
  removeFromFolder: code(() => unlinkSync(`${FOLDER}/a/b.txt`)),
  inside: readFileSync(`${FOLDER}/a/b.txt`, "utf8"),
};

serve(manifest, { predict: async () => found });
