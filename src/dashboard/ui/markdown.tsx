/** Markdown that users wrote: as HTML that asks no other host for anything and cannot act. */
import { raw } from "hono/html";
import { micromark } from "micromark";
import { gfm, gfmHtml } from "micromark-extension-gfm";
import { isCostly } from "./markdown-cost.ts";

/** 10 ms of ordinary text. */
const MAX_CHARACTERS = 32_000;

/** Of tables whose rows are filled up to the width of their heads. */
const MAX_HTML = 500_000;

/**
 * Raw HTML is not read as such, and so stays text. Bare addresses are found below: behind a `[` that
 * nothing closes, micromark goes through the whole paragraph for each word (37 s).
 */
const DISABLED = ["htmlFlow", "htmlText", "wwwAutolink", "protocolAutolink", "emailAutolink"];

const OPTIONS = {
  extensions: [gfm(), { disable: { null: DISABLED } }],
  htmlExtensions: [gfmHtml()],
};

export const Markdown = ({ text }: { text: string }) => {
  const shown = text.slice(0, MAX_CHARACTERS);
  const html = isCostly(shown) ? undefined : micromark(shown, OPTIONS);
  return (
    <div class="markdown">
      {html !== undefined && html.length <= MAX_HTML ? (
        raw(harmless(html))
      ) : (
        <pre tabindex={0}>{shown}</pre>
      )}
      {shown.length < text.length && (
        <p class="quiet">This text is too long to show in full. Use the API to read all of it.</p>
      )}
    </div>
  );
};

/**
 * A tag (in a value of an attribute micromark leaves no quotation mark, and no `>` either), or a
 * bare address.
 */
const TAG_OR_ADDRESS =
  /<(\/?)([a-z]+)([1-6]?)([^>]*)>|\bhttps?:\/\/(?=[\p{L}\d])(?:[^\s<&]|&amp;)+/giu;

/** Which attributes stay, of the tags that do. */
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

/** What micromark wrote, as a closed list of tags; what links and pictures lead to is looked at. */
function harmless(html: string): string {
  let inLink = false;
  let inCode = false;
  return html.replaceAll(TAG_OR_ADDRESS, (found, slash, name, level, rest) => {
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
        return inLink ? label : `${linkTo(attributes.get("src"))}${label}</a>`;
      }
      // A checkbox would need a label of its own.
      case "input":
        return attributes.has("checked") ? "☑" : "☐";
      // What scrolls sideways must be reached with the keyboard.
      case "pre":
        return slash ? "</pre>" : '<pre tabindex="0">';
    }
    const names = KEPT[name];
    if (!names) return "";
    return slash ? `</${name}>` : `<${name}${name === "th" ? ' scope="col"' : ""}${kept(names)}>`;
  });
}

/** What ends a sentence is no part of an address. */
function bareLink(text: string): string {
  let end = text.length;
  while (".,:;!?*_~'()[]".includes(text.charAt(end - 1))) end--;
  const address = text.slice(0, end);
  return `${linkTo(address)}${address}</a>${text.slice(end)}`;
}

/** Addresses within this deployment are not for those to give who write about models. */
const linkTo = (address = "") =>
  /^(?:https?:\/\/|mailto:)/i.test(address)
    ? `<a href="${address}" rel="nofollow ugc noopener">`
    : "<a>";
