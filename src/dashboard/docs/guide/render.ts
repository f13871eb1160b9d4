/** A guide's Markdown as HTML. Runs when assets are built, so it is no part of the Worker. */
import type { Guide, Passage } from "../../../protocol/assets.ts";
import { type CodeLanguage, codePieces } from "../../ui/highlight.ts";
import { ownHtml, plainText } from "../../ui/markdown.ts";

/** Folder of the guides in the repository: their links are relative to it. */
const FOLDER = "src/dashboard/guides/";

/** @param imageUrl the URL of an image that stands beside the guide */
export function renderGuide(markdown: string, imageUrl: (name: string) => string): Guide {
  const headings: Guide["headings"] = [];
  const html = ownHtml(markdown, (heading) => headings.push(heading))
    .replaceAll(/<pre .*?<\/pre>/gs, copyable)
    .replaceAll(/<a href="([^"]*)">(.*?)<\/a>/g, (_, href, text) => link(href, text))
    .replaceAll(/<img src="([^"]*)" (alt="[^"]*") \/>/g, (_, name, alt) => {
      const url = imageUrl(name);
      return `<a class="picture" href="${url}"><img src="${url}" ${alt} /></a>`;
    })
    .replaceAll(
      /<blockquote>\n<p>\[!([A-Z])([A-Z]+)\]\n/g,
      (_, first, rest) =>
        `<blockquote class="alert">\n<p><strong>${first}${rest.toLowerCase()}</strong></p>\n<p>`,
    );
  const [title, ...others] = headings;
  const body = html.slice(html.indexOf("</h1>") + "</h1>".length);
  const sections = body.indexOf("<h2");
  const introduction = sections < 0 ? body : body.slice(0, sections);
  const [, description = ""] = /<p>(.*?)<\/p>/s.exec(introduction) ?? [];
  return {
    title: plainText(title?.html ?? ""),
    description: plainText(description),
    introduction,
    sections: sections < 0 ? "" : body.slice(sections),
    headings: others,
  };
}

/** A guide in pieces, to be searched: what is below each heading, without the buttons of its code. */
export function passagesOf({ title, introduction, sections }: Guide, path: string): Passage[] {
  const [first = "", ...others] = `${introduction}${sections}`.split(/(?=<h[2-6] id=")/);
  const beginning = { path, page: title, id: "", title, text: textIn(first) };
  return [
    beginning,
    ...others.map((part) => {
      const [, id = "", heading = "", rest = ""] =
        /^<h\d id="([^"]*)">(.*?)<\/h\d>(.*)$/s.exec(part) ?? [];
      return { path, page: title, id, title: plainText(heading), text: textIn(rest) };
    }),
  ];
}

const textIn = (html: string) =>
  plainText(
    html.replaceAll(/<button.*?<\/button>/g, "").replaceAll(/<(?=\/?(?:p|li|td|th|tr|pre))/g, " <"),
  )
    .replaceAll(/\s+/g, " ")
    .trim();

const LANGUAGES: Record<string, CodeLanguage> = {
  sh: "curl",
  python: "python",
  js: "js",
  json: "json",
  http: "http",
};

/** Colours code, and adds a button that client code shows, like `Copy` in ui/parts.tsx. */
const copyable = (pre: string) =>
  `<div class="copy">${coloured(pre)}<button type="button" class="quiet" data-copy hidden>Copy</button></div>`;

const coloured = (pre: string) =>
  pre.replace(/<code class="language-(\w+)">(.*?)<\/code>/s, (code, name, content) => {
    const language = LANGUAGES[name];
    if (!language) return code;
    const pieces = codePieces(plainText(content), language).map(({ kind, text }) =>
      kind ? `<span class="code-${kind}">${escaped(text)}</span>` : escaped(text),
    );
    return `<code>${pieces.join("")}</code>`;
  });

const escaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** Other guides are pages beside this one. No URL of the repository is known: its files are named. */
function link(href: string, text: string): string {
  const [, guide, fragment = ""] = /^([a-z-]+)\.md(#.*)?$/.exec(href) ?? [];
  if (guide !== undefined) return `<a href="/docs/${guide}${fragment}">${text}</a>`;
  if (/^(?:https?:|#)/.test(href)) return `<a href="${href}">${text}</a>`;
  const path = new URL(href, `file:///${FOLDER}`).pathname.slice(1);
  const code = `<code>${path}</code>`;
  return path.endsWith(`/${text}`) ? code : `${text} (${code})`;
}
