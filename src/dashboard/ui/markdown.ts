/**
 * Markdown as HTML: our own (guides and descriptions of the API), and that of users, without scripts, forms or
 * requests to other hosts. Answers of a model are read in the browser, by playground/chat/markdown.ts.
 */
import { html, raw } from "hono/html";
import { micromark } from "micromark";
import { gfm, gfmHtml } from "micromark-extension-gfm";
import { type CodeLanguage, codePieces } from "./highlight.ts";

/**
 * Bounds of the time that Markdown takes to read. micromark is quadratic in some marks, and one isolate
 * serves everybody: 32,000 characters could take 37 s. Within these bounds the worst that a fuzz
 * has found took 0.7 s of CPU; of 471 texts in packages and in Node's own documentation all are within.
 */
const ITEM = String.raw`(?:[*+-]|\d{1,9}[.)])[ \t]`;

/** The most matches of each pattern; the 471 texts have at most 2,000, 1,300 and 25 of the first three. */
const BOUNDS: [RegExp, number][] = [
  // Runs and brackets, of which each looks for its partner among all others.
  [/[*_~[\]^]/g, 2_500],
  [/\r\n?|\n/g, 1_500],
  // Underlines of headings: each goes through all that is above it.
  [/^[ \t>]*(?:=+|-+)[ \t]*$/gm, 100],
  // Lists that begin on one line.
  [new RegExp(`^[ \\t>]*${ITEM}[ \\t]*(?:>|${ITEM})`, "gm"), 100],
  // Quotes and lists within each other: on one line, and line by line (40 columns).
  [new RegExp(`^(?:[ \\t]*(?:>|${ITEM})){17}`, "gm"), 0],
  [new RegExp(`^(?:[ >]{4}|[ >]{0,3}\\t){10}[ \\t>]*${ITEM}`, "gm"), 0],
  // Columns of a table: a row is filled up to the width of its head.
  [/^(?:[^|\r\n]*\|){50}/gm, 0],
];

const isCostly = (text: string): boolean =>
  BOUNDS.some(([pattern, most]) => (text.match(pattern)?.length ?? 0) > most);

/** The most characters that are read as Markdown; ordinary text of this length takes 10 ms. */
const MAX_CHARACTERS = 32_000;

/** Rows of a table are filled up to the width of its head. */
const MAX_HTML = 500_000;

/**
 * Left out because micromark takes quadratic time for them: raw HTML, which it would only escape
 * (unclosed `<?`: 20 s), and bare addresses, which are linked below (unclosed `[`: 37 s).
 */
const DISABLED = ["htmlFlow", "htmlText", "wwwAutolink", "protocolAutolink", "emailAutolink"];

const read = (text: string, disabled: string[] = []) =>
  micromark(text, {
    extensions: [gfm(), { disable: { null: disabled } }],
    htmlExtensions: [gfmHtml()],
  });

interface Props {
  text: string;
  /** Returns the URL at which the page shows a picture. Pictures without one become links to them. */
  pictureUrl?: (address: string) => string | undefined;
}

/** Users' Markdown; as plain text if it would take long to read. */
export function Markdown({ text, pictureUrl }: Props) {
  const shown = text.slice(0, MAX_CHARACTERS);
  const content = isCostly(shown) ? undefined : read(shown, DISABLED);
  const isRead = content !== undefined && content.length <= MAX_HTML;
  const cut = html`<p class="quiet">This text is too long to show in full. Use the API to read all of it.</p>`;
  return html`<div class="markdown">${isRead ? raw(harmless(content, pictureUrl)) : html`<pre tabindex="0">${shown}</pre>`}${shown.length < text.length && cut}</div>`;
}

interface Heading {
  level: number;
  id: string;
  html: string;
}

const LANGUAGES: Record<string, CodeLanguage> = {
  sh: "curl",
  python: "python",
  js: "js",
  json: "json",
  http: "http",
};

const coloured = (html: string) =>
  html.replaceAll(/<code class="language-(\w+)">(.*?)<\/code>/gs, (code, name, content) => {
    const language = LANGUAGES[name];
    if (!language) return code;
    const pieces = codePieces(plainText(content), language).map(({ kind, text }) =>
      kind ? `<span class="code-${kind}">${escaped(text)}</span>` : escaped(text),
    );
    return `<code>${pieces.join("")}</code>`;
  });

const escaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** Our own Markdown: its headings link to themselves, and its code is coloured. @param onHeading called with each heading */
export function ownHtml(
  markdown: string,
  onHeading: (heading: Heading) => void = () => {},
): string {
  const slug = slugger();
  return (
    coloured(read(markdown))
      .replaceAll(/<h([1-6])>(.*?)<\/h\1>/g, (_, level, text) => {
        const id = slug(plainText(text));
        onHeading({ level: Number(level), id, html: text });
        return `<h${level} id="${id}"><a href="#${id}">${text}</a></h${level}>`;
      })
      // An element that scrolls sideways must be reachable with the keyboard.
      .replaceAll("<pre>", '<pre tabindex="0">')
      .replaceAll("<table>", '<div class="table" tabindex="0"><table>')
      .replaceAll("</table>", "</table></div>")
      .replaceAll(/<th(?=[ >])/g, '<th scope="col"')
  );
}

/** Returns ids as GitHub gives them to headings, so that a link to one works there too. */
function slugger(): (title: string) => string {
  const uses = new Map<string, number>();
  return (title) => {
    const slug = slugOf(title);
    const used = uses.get(slug) ?? 0;
    uses.set(slug, used + 1);
    return used === 0 ? slug : `${slug}-${used}`;
  };
}

export const slugOf = (title: string) =>
  title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "")
    .replaceAll(" ", "-");

const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"' };

export const plainText = (content: string) =>
  content
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll(/&(amp|lt|gt|quot);/g, (entity, name) => ENTITIES[name] ?? entity);

/** A tag (micromark escapes quotation marks and `>` in attribute values), or a bare address. */
const TAG_OR_ADDRESS =
  /<(\/?)([a-z]+)([1-6]?)([^>]*)>|\bhttps?:\/\/(?=[\p{L}\d])(?:[^\s<&]|&amp;)+/giu;

/** The tags that stay, with the attributes they keep. */
const KEPT: Record<string, string[]> = {
  ...Object.fromEntries(
    "blockquote br code del em hr p section strong sup table tbody thead tr ul"
      .split(" ")
      .map((name) => [name, []]),
  ),
  li: ["id"],
  ol: ["start"],
  td: ["align"],
  th: ["align"],
};

/**
 * micromark's HTML as the page shows it: an allowlist of tags, links marked as users' own, pictures
 * as links to them unless the page can show them. micromark itself already drops `javascript:` links, but not relative ones.
 */
function harmless(content: string, pictureUrl: Props["pictureUrl"]): string {
  let inLink = false;
  let inCode = false;
  return content.replaceAll(TAG_OR_ADDRESS, (found, slash, name, level, rest) => {
    if (name === undefined) return inLink || inCode ? found : bareLink(found);
    if (name === "code") inCode = !slash;
    const attributes = new Map(
      [...rest.matchAll(/([a-z-]+)="([^"]*)"/g)].map(([, key = "", value = ""]) => [key, value]),
    );
    const kept = (names: string[]) =>
      names.map((key) => (attributes.has(key) ? ` ${key}="${attributes.get(key)}"` : "")).join("");
    if (level) return `<${slash}h${Math.min(Number(level) + 1, 6)}>`;
    switch (name) {
      case "a":
        inLink = !slash;
        if (slash) return "</a>";
        if (attributes.get("href")?.startsWith("#user-content-"))
          return `<a${kept(["href", "id", "aria-label"])}>`;
        return linkTo(attributes.get("href"));
      case "img": {
        const label = attributes.get("alt") || "Image";
        const shown = pictureUrl?.(plainText(attributes.get("src") ?? ""));
        if (shown !== undefined)
          return `<img src="${escaped(shown)}" alt="${inLink ? label : attributes.get("alt")}" loading="lazy" decoding="async">`;
        return inLink ? label : `${linkTo(attributes.get("src"))}${label}</a>`;
      }
      // A checkbox would need a label of its own.
      case "input":
        return attributes.has("checked") ? "☑" : "☐";
      // An element that scrolls sideways must be reachable with the keyboard.
      case "pre":
        return slash ? "</pre>" : '<pre tabindex="0">';
    }
    const names = KEPT[name];
    if (!names) return "";
    return slash ? `</${name}>` : `<${name}${name === "th" ? ' scope="col"' : ""}${kept(names)}>`;
  });
}

/** Punctuation that ends a sentence is not part of an address. */
function bareLink(text: string): string {
  let end = text.length;
  while (".,:;!?*_~'()[]".includes(text.charAt(end - 1))) end--;
  const address = text.slice(0, end);
  return `${linkTo(address)}${address}</a>${text.slice(end)}`;
}

/** Only absolute links stay: a user's text must not link to pages of this deployment's dashboard. */
const linkTo = (address = "") =>
  /^(?:https?:\/\/|mailto:)/i.test(address)
    ? `<a href="${address}" rel="nofollow ugc noopener">`
    : "<a>";
