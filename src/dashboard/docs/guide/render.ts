/** A guide's Markdown as HTML, rendered when assets are built, and a page in pieces that can be searched. */
import type { Guide, Passage } from "../../../protocol/assets.ts";
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

/** Returns a page in pieces, to be searched: what is below each heading, without the buttons of its code. */
export function passagesOf(
  { title, html }: { title: string; html: string },
  path: string,
): Passage[] {
  const [first = "", ...others] = html.split(/(?=<h[2-6] id=")/);
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

/** Adds a button that client code shows, like `Copy` in ui/parts.tsx. */
const copyable = (pre: string) =>
  `<div class="copy">${pre}<button type="button" class="quiet" data-copy hidden>Copy</button></div>`;

/** Other guides are pages beside this one. No URL of the repository is known: its files are named. */
function link(href: string, text: string): string {
  const [, guide, fragment = ""] = /^([a-z-]+)\.md(#.*)?$/.exec(href) ?? [];
  if (guide !== undefined) return `<a href="/docs/${guide}${fragment}">${text}</a>`;
  if (/^(?:https?:|#)/.test(href)) return `<a href="${href}">${text}</a>`;
  const path = new URL(href, `file:///${FOLDER}`).pathname.slice(1);
  const code = `<code>${path}</code>`;
  return path.endsWith(`/${text}`) ? code : `${text} (${code})`;
}
