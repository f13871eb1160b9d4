/**
 * Finds the parts of valid JSON text, so that a value can be passed on as it was written. To parse a value
 * and to write it again would change numbers that no double can hold, `1.0`, and the order of names.
 */
import { exactText } from "./exact-json.ts";
import { type Json, stringEnd, withoutSeparators } from "./json.ts";
import { arrayText } from "./json-splice.ts";

/** A part of a text. */
export interface Span {
  from: number;
  to: number;
}

const [QUOTE, OPEN_LIST, OPEN_OBJECT] = [0x22, 0x5b, 0x7b];
const BRACKET = /["[\]{}]/g;
const SCALAR_END = /[,\]}]/g;
const SPACE = /[ \t\n\r]/;
const SPACE_OR_QUOTE = /[" \t\n\r]/g;
const SPACES = /[ \t\n\r]*/y;

export function oneLineJson(text: string): string {
  const compact = SPACE.test(text) ? withoutSpaces(text) : text;
  return withoutSeparators(compact);
}

function withoutSpaces(text: string): string {
  const parts: string[] = [];
  let from = 0;
  for (let at = 0; ; ) {
    SPACE_OR_QUOTE.lastIndex = at;
    const { index } = SPACE_OR_QUOTE.exec(text) ?? {};
    if (index === undefined) break;
    if (text.charCodeAt(index) === QUOTE) {
      at = stringEnd(text, index + 1);
      continue;
    }
    parts.push(text.slice(from, index));
    SPACES.lastIndex = index;
    SPACES.test(text);
    at = SPACES.lastIndex;
    from = at;
  }
  return from === 0 ? text : parts.join("") + text.slice(from);
}

/** Returns the end of a value. @param text without spaces between values */
export function valueEnd(text: string, from: number): number {
  const first = text.charCodeAt(from);
  if (first === QUOTE) return stringEnd(text, from + 1);
  if (first !== OPEN_LIST && first !== OPEN_OBJECT) {
    SCALAR_END.lastIndex = from;
    return SCALAR_END.exec(text)?.index ?? text.length;
  }
  let depth = 1;
  for (let at = from + 1; depth > 0; ) {
    BRACKET.lastIndex = at;
    const found = BRACKET.exec(text);
    if (!found) return text.length;
    const [mark] = found;
    at = found.index + 1;
    if (mark === '"') at = stringEnd(text, at);
    else depth += mark === "[" || mark === "{" ? 1 : -1;
    if (depth === 0) return at;
  }
  return text.length;
}

/** The items of a list. @param text without spaces between values @param from where the list begins */
export function* itemsOf(text: string, from = 0): Generator<Span> {
  if (text.charAt(from + 1) === "]") return;
  for (let at = from + 1; at < text.length; ) {
    const to = valueEnd(text, at);
    yield { from: at, to };
    if (text.charAt(to) !== ",") return;
    at = to + 1;
  }
}

/** The values of an object. Parameters are those of the items of a list. */
export function* membersOf(text: string, from = 0): Generator<Span & { name: string }> {
  for (let at = from + 1; text.charCodeAt(at) === QUOTE; ) {
    const end = stringEnd(text, at + 1);
    const to = valueEnd(text, end + 1);
    yield { name: JSON.parse(text.slice(at, end)), from: end + 1, to };
    at = to + 1;
  }
}

/** Returns the beginning of a member's value, or the end of the text without that member. */
export function memberFrom(text: string, name: string): number {
  for (let at = 1; text.charCodeAt(at) === QUOTE; ) {
    const end = stringEnd(text, at + 1);
    if (text.slice(at + 1, end - 1) === name) return end + 1;
    at = valueEnd(text, end + 1) + 1;
  }
  return text.length;
}

/** The text of a member; of the last one of this name, as a parser would have it. */
export function memberText(text: string, name: string): string | undefined {
  let found: string | undefined;
  for (const member of membersOf(text))
    if (member.name === name) found = text.slice(member.from, member.to);
  return found;
}

/** A value, and the text that it was parsed from, in one line. */
export interface JsonSource {
  value: Json;
  text: string;
}

/** A member of an object; undefined where there is none. */
export function sourceOf({ value, text }: JsonSource, name: string): JsonSource | undefined {
  const member = isTree(value) ? Object.getOwnPropertyDescriptor(value, name)?.value : undefined;
  const found = member === undefined ? undefined : memberText(text, name);
  return found === undefined ? undefined : { value: member, text: found };
}

type Tree = Json[] | { [name: string]: Json };

const isTree = (value: Json | undefined): value is Tree =>
  typeof value === "object" && value !== null;

/**
 * The text of a value that was made from another one: a part that is unchanged keeps its text, and the
 * order of its names. A list may have lost some of its items, and have new items anywhere.
 */
export function textFrom(value: Json, source: JsonSource | undefined): string {
  if (!source) return exactText(value);
  const changes: Changes = { parts: new Set(), lists: new Map() };
  return mark(value, source.value, changes) ? source.text : writtenFrom(value, source, changes);
}

interface Changes {
  parts: Set<Json>;
  /** The earlier place of each item of a list whose length has changed. */
  lists: Map<Json, (number | undefined)[]>;
}

/** Notes in `changes` what has changed. @returns whether the value is as it was */
function mark(value: Json, before: Json | undefined, changes?: Changes): boolean {
  if (!isTree(value)) return Object.is(value, before);
  if (value === before) return true;
  let same: boolean;
  if (!isTree(before) || Array.isArray(value) !== Array.isArray(before)) same = false;
  else if (Array.isArray(value) && Array.isArray(before)) {
    same = value.length === before.length;
    if (same)
      for (const [n, item] of value.entries()) same = mark(item, before[n], changes) && same;
    else changes?.lists.set(value, placesBefore(value, before));
  } else {
    const names = namesIn(value);
    same = names.length === Object.keys(before).length;
    for (const name of names)
      same = mark(own(value, name) ?? null, own(before, name), changes) && same;
  }
  if (!same) changes?.parts.add(value);
  return same;
}

/** Returns the earlier place of each item of a list; undefined for an item that is new or has changed. */
function placesBefore(list: Json[], before: Json[]): (number | undefined)[] {
  const places = Map.groupBy(before.keys(), (n) => JSON.stringify(before[n]));
  for (const equal of places.values()) equal.reverse();
  return list.map((item) => {
    const place = places.get(JSON.stringify(item))?.pop();
    return place !== undefined && mark(item, before[place]) ? place : undefined;
  });
}

const own = (value: Tree, name: string): Json | undefined =>
  Object.getOwnPropertyDescriptor(value, name)?.value;

/** JSON.stringify leaves out a property that is undefined. */
const namesIn = (value: Tree) =>
  Object.keys(value).filter((name) => own(value, name) !== undefined);

function writtenFrom(value: Json, source: JsonSource, changes: Changes): string {
  const { value: before, text } = source;
  if (isTree(value) ? !changes.parts.has(value) : Object.is(value, before)) return text;
  if (!isTree(value) || !isTree(before) || Array.isArray(value) !== Array.isArray(before))
    return exactText(value);
  const part = (one: Json, like: Json | undefined, span: Span | undefined) =>
    span && like !== undefined
      ? writtenFrom(one, { value: like, text: text.slice(span.from, span.to) }, changes)
      : exactText(one);
  if (Array.isArray(value)) {
    const list = Array.isArray(before) ? before : [];
    const spans = [...itemsOf(text)];
    const places = changes.lists.get(value);
    return arrayText(
      value.map((item, n) => {
        const at = places ? places[n] : n;
        return at === undefined ? exactText(item) : part(item, list[at], spans[at]);
      }),
    );
  }
  const spans = new Map([...membersOf(text)].map((member) => [member.name, member]));
  const names = new Set([...spans.keys(), ...namesIn(value)]);
  const members = [...names].flatMap((name) => {
    const one = own(value, name);
    if (one === undefined) return [];
    return `${JSON.stringify(name)}:${part(one, own(before, name), spans.get(name))}`;
  });
  return `{${members.join(",")}}`;
}
