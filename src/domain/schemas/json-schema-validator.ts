/**
 * Validates inputs against JSON Schemas within a number of steps. It does not use zod, so that it can run in
 * a browser. No package counts its steps, and a schema of 400 bytes can take millions.
 */
import type { Json, ValidationIssue } from "../../protocol/common.ts";
import { CHECKS, type Keyword } from "./json-schema-keywords.ts";
import { SchemaParts } from "./json-schema-parts.ts";
import type { Keywords, SchemaPart } from "./json-schema-shape.ts";
import {
  Meter,
  type PatternTest,
  type Place,
  stepsOfText,
  stepsOfValue,
  Visit,
  type VisitContext,
} from "./json-schema-visit.ts";
import { fault } from "./validation.ts";

const STEPS_OF_VISIT = 10;
const STEPS_OF_KEYWORD = 5;

/** The task of checking a keyword, in the order of the checks. */
interface Task {
  steps: number;
  takes(value: Json): boolean;
  check(visit: Visit): void;
}

const KEYWORDS = Object.keys(CHECKS).filter((name): name is Keyword => name in CHECKS);

/** The names from which an object's list is cached: lists of all would be as large as the input. */
const WIDE = 100;

/**
 * @param parts of an output of `schemaShape`
 * @returns at most 20 issues
 * @throws TooCostly, and RangeError for an input or schema that is nested too deep
 */
export function validate(
  parts: SchemaParts,
  input: Json,
  matches: PatternTest,
  meter = new Meter(),
): ValidationIssue[] {
  return new Validation(parts, meter, matches).visit(parts.root, input, {}).issues;
}

class Validation implements VisitContext {
  readonly parts: SchemaParts;
  readonly meter: Meter;
  readonly matches: PatternTest;
  readonly #tasks = new Map<Keywords, Task[]>();
  readonly #names = new Map<object, { names: string[]; steps: number }>();

  constructor(parts: SchemaParts, meter: Meter, matches: PatternTest) {
    this.parts = parts;
    this.meter = meter;
    this.matches = matches;
  }

  visit(part: SchemaPart, value: Json, place: Place): Visit {
    this.meter.spend(STEPS_OF_VISIT);
    const visit = new Visit(this, typeof part === "boolean" ? {} : part, value, place);
    if (part === false) visit.fail(fault("extra_forbidden"));
    if (typeof part === "boolean") return visit;
    for (const task of this.#tasksOf(part)) {
      if (visit.isFull) break;
      this.meter.spend(task.takes(value) ? task.steps + this.#stepsOf(value) : task.steps);
      task.check(visit);
    }
    return visit;
  }

  namesOf(value: object) {
    const known = this.#names.get(value);
    if (known) return known;
    const names = Object.keys(value);
    const steps = names.reduce((sum, name) => sum + stepsOfText(name), 1);
    const found = { names, steps };
    if (names.length >= WIDE) this.#names.set(value, found);
    return found;
  }

  /** Returns the steps to read a text, or to go through a list or the names of an object. */
  #stepsOf(value: Json): number {
    if (typeof value === "string") return stepsOfText(value);
    if (Array.isArray(value)) return value.length;
    return typeof value === "object" && value !== null ? this.namesOf(value).steps : 1;
  }

  #tasksOf(part: Keywords): Task[] {
    const known = this.#tasks.get(part);
    if (known) return known;
    const tasks = KEYWORDS.flatMap((name) => this.#taskOf(name, part) ?? []);
    this.#tasks.set(part, tasks);
    return tasks;
  }

  #taskOf<Name extends Keyword>(name: Name, part: Keywords): Task | undefined {
    const limit = part[name];
    if (limit === undefined) return undefined;
    const { takes, check } = CHECKS[name];
    const isRead = (below: object) => !this.parts.has(below);
    return {
      takes,
      steps: STEPS_OF_KEYWORD + stepsOfValue(limit, isRead),
      check: (visit) => check(limit, visit, visit.value),
    };
  }
}

/**
 * Returns a checker. Inputs whose validation fails or takes too long count as valid: the service decides. So
 * do all texts that have a pattern, because the engine for patterns is larger than a whole page.
 * @param shape an output of `schemaShape`
 */
export function inputChecker(shape: SchemaPart): (input: Json) => ValidationIssue[] {
  const parts = new SchemaParts(shape);
  return (input) => {
    try {
      return validate(parts, input, () => undefined);
    } catch {
      return [];
    }
  };
}

/** Returns the message for each field. Issues of the whole input have an empty name. */
export function fieldMessages(issues: ValidationIssue[]): Map<string, string> {
  const messages = new Map<string, string>();
  for (const { loc, msg } of issues) {
    const [name = "", ...way] = loc.slice(2);
    if (!messages.has(name)) messages.set(name, way.length > 0 ? `${way.join(".")}: ${msg}` : msg);
  }
  return messages;
}
