/** The page of an output: its folded parts are made into nodes when they are opened. */
import { attachTrees } from "./parts/json-tree.ts";
import { LongText } from "./parts/long-text.ts";

attachTrees(document);
const text = document.querySelector<HTMLElement>("[data-long-text]");
if (text) new LongText(text);
