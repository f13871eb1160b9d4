/** Turns the forms of models and versions into requests of the API. */
import { readJson } from "../../domain/schemas/input-form-values.ts";
import { invalid, ValidationFailure } from "../../domain/schemas/validation.ts";
import type { ValidationIssue } from "../../protocol/common.ts";
import {
  type Configuration,
  type CreateModel,
  type CreateVersion,
  createModel,
  createVersion,
  type UpdateModel,
  updateModel,
} from "../../protocol/model.ts";
import { parse } from "../../routes/router.ts";
import { fieldText, fieldTexts, pickFields } from "../form.ts";
import { COMPATIBILITIES } from "../ui/configuration.ts";

/** All fields, for creating and for updating. @throws ValidationFailure */
export function readModelForm(form: FormData): CreateModel {
  const request = {
    ...pickFields(form, "name", "visibility"),
    ...textsIn(form),
    hardware_identifier: orNull(form, "hardware_identifier"),
    category_slugs: fieldTexts(form, "category_slugs"),
  };
  return parse(createModel, request, "body");
}

/** The fields that a collaborator changes. @throws ValidationFailure */
export const readTextsForm = (form: FormData): UpdateModel =>
  parse(updateModel, textsIn(form), "body");

const textsIn = (form: FormData) => ({
  description: fieldText(form, "description"),
  overview: fieldText(form, "overview").replaceAll("\r\n", "\n"),
  source_url: orNull(form, "source_url"),
  license_url: orNull(form, "license_url"),
  paper_url: orNull(form, "paper_url"),
  cover_image_url: orNull(form, "cover_image_url"),
});

const orNull = (form: FormData, name: string) => fieldText(form, name).trim() || null;

/** @throws ValidationFailure */
export function readVersionForm(form: FormData): CreateVersion {
  const text = (name: string) => fieldText(form, name).trim() || undefined;
  const number = (name: string) => {
    const typed = text(name);
    return typed === undefined ? undefined : Number(typed);
  };
  const list = (name: string) =>
    fieldText(form, name)
      .split(/[\s,]+/)
      .filter(Boolean);
  const flags = fieldTexts(form, "compatibilities");
  const request = {
    release_notes: fieldText(form, "release_notes"),
    ...readImageFields(form),
    set_default: text("set_default") !== "false",
    schemas: fieldText(form, "schemas_from") === "image" ? undefined : readSchemas(form),
    // Compatibilities are those of the image if the form has none.
    compatibilities:
      flags.length === 0
        ? undefined
        : Object.fromEntries(COMPATIBILITIES.map(({ flag }) => [flag, flags.includes(flag)])),
    configuration: {
      image: readsDigest(form) ? text("repository") : undefined,
      interface: text("interface"),
      hardware_identifier: text("hardware_identifier"),
      variable_names: list("variable_names"),
      isolation: text("isolation"),
      egress: text("egress") === "hosts" ? list("egress_hosts") : text("egress"),
      timeout_seconds: number("timeout_seconds"),
      max_concurrency: number("max_concurrency"),
      idle_seconds: number("idle_seconds"),
      listen_timeout_seconds: number("listen_timeout_seconds"),
      weights: readWeights(fieldText(form, "weights")),
    },
  };
  return parse(createVersion, request, "body");
}

/** The fields of the other choice are hidden, and keep what was typed. */
const readsDigest = (form: FormData) => fieldText(form, "image_by") !== "tag";

/** @throws ValidationFailure */
function readImageFields(form: FormData) {
  if (readsDigest(form))
    return { container_image_digest: fieldText(form, "container_image_digest").trim() };
  const image = fieldText(form, "image").trim();
  if (image !== "") return { image };
  throw invalid(["body", "image_by"], "This model has no images yet. First, push an image.");
}

const readSchemas = (form: FormData) => ({
  prediction: {
    input: readJsonField(form, "input"),
    output: readJsonField(form, "output"),
    stream_output: fieldTexts(form, "stream_output").includes("true"),
  },
  components:
    fieldText(form, "components").trim() === "" ? undefined : readJsonField(form, "components"),
});

function readJsonField(form: FormData, name: "input" | "output" | "components") {
  const read = readJson(fieldText(form, name));
  if ("fault" in read) throw invalid(["body", name], read.fault);
  return read.value;
}

/** A schema or a list is one form field: maps issues inside it to that field, with the path in the text. */
export async function withFieldIssues<Done>(make: () => Promise<Done>): Promise<Done> {
  try {
    return await make();
  } catch (error) {
    if (!(error instanceof ValidationFailure)) throw error;
    throw new ValidationFailure(error.issues.map(toFieldIssue));
  }
}

function toFieldIssue(issue: ValidationIssue): ValidationIssue {
  const [, group, part, ...path] = issue.loc;
  if (group === "schemas") {
    if (part === undefined) return { ...issue, loc: ["body", "schemas_from"] };
    const [field = "", ...way] = part === "components" ? [part, ...path] : path;
    if (way.length === 0) return issue;
    return { ...issue, loc: ["body", field], msg: `${way.join(".")}: ${issue.msg}` };
  }
  if (group !== "configuration") return issue;
  // The form's own `image` is a tag.
  if (part === "image") return { ...issue, loc: ["body", "repository"] };
  if (part === "weights") {
    const loc = ["body", "configuration", "weights"];
    return { ...issue, loc, msg: weightIssueText(issue, path) };
  }
  if (part === "variable_names") return { ...issue, msg: lineText(issue, path) };
  if (part !== "egress" || issue.type === "literal_error") return issue;
  const msg = issue.type === "too_short" ? "Enter at least one host." : lineText(issue, path);
  return { ...issue, loc: ["body", "egress_hosts"], msg };
}

/** Names the item of a list. */
const lineText = ({ input, msg }: ValidationIssue, path: unknown[]) =>
  path.length > 0 && typeof input === "string" ? `'${input}': ${msg}` : msg;

export const weightLines = ({ weights = [] }: Configuration): string =>
  weights.map(({ target, file }) => `${target} ${file}`).join("\n");

/** Reads a line; undefined for an empty one. A path may have spaces, and the name of an upload has none. */
function readWeights(text: string): { target: string; file: string }[] | undefined {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "");
  if (lines.length === 0) return undefined;
  return lines.map((line) => {
    const [, target = line.trim(), file = ""] = /^\s*(.*\S)\s+(\S+)\s*$/.exec(line) ?? [];
    return { target, file };
  });
}

/** Says in which line something is wrong, and in which half of it. @param path below `weights` */
function weightIssueText({ msg }: ValidationIssue, path: readonly string[]): string {
  const [line, part] = path;
  if (line === undefined) return msg;
  const half = part === "file" ? "upload" : "path";
  return `Line ${Number(line) + 1}, ${half}: ${msg}`;
}
