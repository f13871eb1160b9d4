/** A shared prediction: its texts as Markdown, its pictures large, its trees unfolded. */
import { attachTrees } from "./parts/json-tree.ts";
import { MarkdownMode } from "./parts/markdown-mode.ts";
import { attachZoom } from "./parts/zoom.ts";

attachTrees(document);
attachZoom(document.body);
for (const output of document.querySelectorAll<HTMLElement>("[data-shared]"))
  new MarkdownMode(output);
