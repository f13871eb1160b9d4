/**
 * The Markdown that models write, as blocks and spans: what is not recognized stays as it is written.
 * It knows no HTML, and takes linear time for any text: it is parsed again while it grows.
 */

export type Block =
  | { kind: "code"; language: string; text: string }
  | { kind: "heading"; level: number; text: string }
  | { kind: "list"; start: number | null; depth: number; items: string[] }
  | { kind: "quote"; text: string }
  | { kind: "table"; head: string[]; rows: string[][] }
  | { kind: "rule" }
  | { kind: "text"; text: string };

export type Span =
  | { kind: "text" | "code" | "strong" | "em"; text: string }
  | { kind: "link"; text: string; address: string };

const FENCE = /^ {0,3}(`{3,}|~{3,})([^`]{0,100})$/;
const HEADING = /^ {0,3}(#{1,6}) +(\S.*)$/;
const ITEM = /^( {0,12})(?:[-*+]|(\d{1,9})[.)]) +(\S.*)$/;
const RULE = /^ {0,3}(?:(?:- *){3,}|(?:\* *){3,}|(?:_ *){3,})$/;
const TABLE_RULE = /^ *\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?$/;
/** Longer lines are no table. */
const MAX_TABLE_LINE = 2_000;

export function blocksOf(source: string): Block[] {
  const lines = source.split("\n");
  const blocks: Block[] = [];
  for (let n = 0; n < lines.length; ) {
    const line = lines[n] ?? "";
    const fence = FENCE.exec(line);
    if (fence) {
      const [, marks = "", language = ""] = fence;
      const end = closing(lines, n + 1, marks);
      const text = lines.slice(n + 1, end).join("\n");
      blocks.push({ kind: "code", language: language.trim(), text });
      n = end + 1;
    } else if (isTable(lines, n)) {
      const rows = [];
      const head = cellsOf(line);
      for (n += 2; n < lines.length && lines[n]?.includes("|"); n++) rows.push(cellsOf(lines[n]));
      blocks.push({ kind: "table", head, rows });
    } else {
      addLine(blocks, line, n === 0 || lines[n - 1]?.trim() === "");
      n++;
    }
  }
  return blocks.filter((block) => !("text" in block) || block.kind === "code" || block.text !== "");
}

/** The line of the fence that closes; the end while there is none. */
function closing(lines: string[], from: number, marks: string): number {
  const close = new RegExp(`^ {0,3}${marks[0]}{${marks.length},} *$`);
  let at = from;
  while (at < lines.length && !close.test(lines[at] ?? "")) at++;
  return at;
}

function isTable(lines: string[], n: number): boolean {
  const [head = "", rule = ""] = [lines[n], lines[n + 1]];
  const isShort = head.length < MAX_TABLE_LINE && rule.length < MAX_TABLE_LINE;
  return isShort && head.includes("|") && rule.includes("|") && TABLE_RULE.test(rule);
}

const cellsOf = (line = "") =>
  line
    .trim()
    .replace(/^\||\|$/g, "")
    .split("|")
    .map((cell) => cell.trim());

/** @param isApart whether an empty line is before it */
function addLine(blocks: Block[], line: string, isApart: boolean): void {
  const last = blocks.at(-1);
  const heading = HEADING.exec(line);
  const item = RULE.test(line) ? null : ITEM.exec(line);
  if (heading) {
    const [, marks = "", text = ""] = heading;
    blocks.push({
      kind: "heading",
      level: marks.length,
      text: text.trimEnd().replace(/(?<! ) +#+$/, ""),
    });
  } else if (RULE.test(line)) {
    blocks.push({ kind: "rule" });
  } else if (item) {
    const [, indent = "", number, text = ""] = item;
    const depth = Math.floor(indent.length / 2);
    const isOrdered = number !== undefined;
    if (last?.kind === "list" && last.depth === depth && (last.start !== null) === isOrdered)
      last.items.push(text);
    else
      blocks.push({ kind: "list", start: isOrdered ? Number(number) : null, depth, items: [text] });
  } else if (line.startsWith(">")) {
    const text = line.replace(/^> ?/, "");
    if (last?.kind === "quote" && !isApart) last.text += `\n${text}`;
    else blocks.push({ kind: "quote", text });
  } else if (line.trim() === "") {
    return;
  } else if (last?.kind === "list" && (!isApart || /^ {2,}/.test(line))) {
    last.items.push(`${last.items.pop()}\n${line.trim()}`);
  } else if (last?.kind === "text" && !isApart) {
    last.text += `\n${line}`;
  } else {
    blocks.push({ kind: "text", text: line });
  }
}

/** Each part is bounded, so that a mark that is never closed costs little. */
const SPAN =
  /`([^`\n]{1,500})`|\*\*([^*\n]{1,500})\*\*|(?<![\w*])\*([^*\s][^*\n]{0,500})\*(?![\w*])|\[([^[\]\n]{1,300})\]\((https?:\/\/[^\s()]{1,1000})\)/g;
/** A paragraph that is longer is shown as it is. */
const MAX_MARKED = 20_000;

export function spansOf(text: string): Span[] {
  if (text.length > MAX_MARKED) return [{ kind: "text", text }];
  const spans: Span[] = [];
  let from = 0;
  for (const match of text.matchAll(SPAN)) {
    if (match.index > from) spans.push({ kind: "text", text: text.slice(from, match.index) });
    const [whole, code, strong, em, label, address] = match;
    if (code !== undefined) spans.push({ kind: "code", text: code });
    else if (strong !== undefined) spans.push({ kind: "strong", text: strong });
    else if (em !== undefined) spans.push({ kind: "em", text: em });
    else spans.push({ kind: "link", text: label ?? "", address: address ?? "" });
    from = match.index + whole.length;
  }
  if (from < text.length) spans.push({ kind: "text", text: text.slice(from) });
  return spans;
}
