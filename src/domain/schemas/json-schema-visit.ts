/** A value that is held against one part of a JSON Schema. */
import type { Json, ValidationIssue } from "../../protocol/common.ts";
import type { SchemaParts } from "./json-schema-parts.ts";
import type { Keywords, SchemaPart } from "./json-schema-shape.ts";
import { type Fault, issueAt, type Loc, likeliestIssues, MAX_ISSUES } from "./validation.ts";

/** Decides whether a text matches a pattern; undefined if it cannot. */
export type PatternTest = (pattern: string, text: string) => boolean | undefined;

/** The steps of an issue, which consists of some texts and the whole location. */
const STEPS_OF_ISSUE = 200;

const STEPS_OF_MARK = 4;

export interface VisitContext {
  readonly parts: SchemaParts;
  readonly meter: Meter;
  readonly matches: PatternTest;
  visit(part: SchemaPart, value: Json, place: Place): Visit;
  /** The names of an object, and the steps to read them. */
  namesOf(value: object): { names: string[]; steps: number };
}

export interface Place {
  above?: Place;
  key?: string | number;
}

function locOf(place: Place): Loc {
  const keys: string[] = [];
  for (let at: Place | undefined = place; at?.key !== undefined; at = at.above)
    keys.push(String(at.key));
  return ["body", "input", ...keys.toReversed()];
}

export class Visit {
  readonly part: Keywords;
  readonly value: Json;
  readonly issues: ValidationIssue[] = [];
  /** False if the value counts as valid because something could not be decided. */
  isCertain = true;
  readonly #validation: VisitContext;
  readonly #place: Place;
  #patterned: Set<string> | undefined;
  /** Names and indexes that keywords have accepted. */
  #marked: Set<string | number> | undefined;

  constructor(validation: VisitContext, part: Keywords, value: Json, place: Place) {
    this.#validation = validation;
    this.part = part;
    this.value = value;
    this.#place = place;
  }

  /** Whether further checks no longer change the reported issues. */
  get isFull(): boolean {
    return this.issues.length >= MAX_ISSUES;
  }

  get isValid(): boolean {
    return this.issues.length === 0;
  }

  get names(): string[] {
    const { value } = this;
    return typeof value === "object" && value !== null ? this.#validation.namesOf(value).names : [];
  }

  get patterned(): Set<string> {
    this.#patterned ??= new Set();
    return this.#patterned;
  }

  fail(found: Fault, name?: string): void {
    if (this.isFull) return;
    const loc = locOf(this.#place);
    this.#validation.meter.spend(STEPS_OF_ISSUE + loc.length + found.msg.length);
    this.issues.push(
      name === undefined ? issueAt(loc, found, this.value) : issueAt([...loc, name], found),
    );
  }

  /** Fails with the issues of the union's branch that was most likely meant. */
  failAsLikeliest(branches: Visit[]): void {
    const issues = branches.map((branch) => branch.issues);
    this.#validation.meter.spend(issues.flat().length);
    this.#addIssues(likeliestIssues(issues, locOf(this.#place).length));
  }

  against(part: SchemaPart): Visit {
    return this.#validation.visit(part, this.value, this.#place);
  }

  againstReference(): Visit {
    return this.against(this.#validation.parts.targetOf(this.part) ?? true);
  }

  againstName(part: SchemaPart, name: string): Visit {
    return this.#validation.visit(part, name, { above: this.#place, key: name });
  }

  /** Visits a property or an item, without taking over its result. */
  againstBelow(key: string | number, part: SchemaPart): Visit {
    const value: Json = isComposite(this.value) ? Reflect.get(this.value, key) : null;
    return this.#validation.visit(part, value, { above: this.#place, key });
  }

  /** Visits a property or an item, and takes over its issues. */
  below(key: string | number, part: SchemaPart): void {
    if (this.isFull) return;
    const found = this.againstBelow(key, part);
    this.#addIssues(found.issues);
    this.isCertain &&= found.isCertain;
    this.mark(key);
  }

  /** Takes over the results of visits that must all succeed for the same value. */
  acceptAll(visits: Visit[]): void {
    for (const visit of visits) {
      this.#addIssues(visit.issues);
      this.isCertain &&= visit.isCertain;
      this.markAll(visit);
    }
  }

  mark(key: string | number): void {
    if (!this.#validation.parts.hasUnevaluated) return;
    this.#validation.meter.spend(STEPS_OF_MARK);
    this.#marked ??= new Set();
    this.#marked.add(key);
  }

  isMarked(key: string | number): boolean {
    return this.#marked?.has(key) === true;
  }

  markAll(visit: Visit): void {
    const marked = visit.#marked;
    if (!visit.isValid || marked === undefined) return;
    if (this.#marked === undefined) this.#marked = marked;
    else for (const key of marked) this.mark(key);
  }

  /** Returns undefined if it cannot be decided. */
  matches(pattern: string, text: string): boolean | undefined {
    const isMatched = this.#validation.matches(pattern, text);
    if (isMatched === undefined) this.isCertain = false;
    return isMatched;
  }

  isEqual(one: unknown, other: unknown): boolean {
    this.#validation.meter.spend(
      typeof one === "string" && typeof other === "string" ? stepsOfText(one) : 1,
    );
    if (one === other) return true;
    if (!isComposite(one) || !isComposite(other)) return false;
    if (Array.isArray(one) !== Array.isArray(other)) return false;
    const { names, steps } = this.#validation.namesOf(one);
    this.#validation.meter.spend(steps);
    return (
      this.#validation.namesOf(other).names.length === names.length &&
      names.every(
        (name) =>
          Object.hasOwn(other, name) &&
          this.isEqual(Reflect.get(one, name), Reflect.get(other, name)),
      )
    );
  }

  #addIssues(issues: ValidationIssue[]): void {
    this.issues.push(...issues.slice(0, MAX_ISSUES - this.issues.length));
  }
}

const isComposite = (value: unknown): value is object =>
  typeof value === "object" && value !== null;

/** Counts the steps of one validation. A step takes about 50 ns. */

/** The most steps: about 0.5 s in the worst case. A list of 90,000 numbers takes fewer. */
const MAX_STEPS = 10_000_000;

const CHARS = 20;

export class TooCostly extends Error {}

export class Meter {
  readonly #max: number;
  #steps = 0;

  constructor(max = MAX_STEPS) {
    this.#max = max;
  }

  get steps(): number {
    return this.#steps;
  }

  /** @throws TooCostly */
  spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > this.#max)
      throw new TooCostly(`validation takes more than ${this.#max} steps`);
  }
}

export const stepsOfText = (text: string): number => 1 + Math.ceil(text.length / CHARS);

/** @param isRead whether a value below is read; each other value is one step */
export function stepsOfValue(value: unknown, isRead: (below: object) => boolean): number {
  if (typeof value === "string") return stepsOfText(value);
  if (typeof value !== "object" || value === null || !isRead(value)) return 1;
  let steps = 1;
  for (const [name, below] of Object.entries(value))
    steps += stepsOfText(name) + stepsOfValue(below, isRead);
  return steps;
}
