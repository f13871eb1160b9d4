/** Replaces elements that the stream has appended to with those that the server has stored. */
import { enhance } from "./enhance.ts";
import { attachTrees } from "./json-tree.ts";
import { replaceElement } from "./replace-element.ts";
import { makeZoomable } from "./zoom.ts";

const APPENDED = ["[data-output]", "[data-more]", "[data-logs]", "[data-logs-hidden]"];

/** @param page the same view as the server renders it */
export function replaceAppended(root: HTMLElement, page: Document): void {
  for (const selector of APPENDED) {
    const [old, stored] = [root, page].map((one) => one.querySelector<HTMLElement>(selector));
    if (!old || !stored) continue;
    enhance(stored);
    attachTrees(stored);
    makeZoomable(stored);
    replaceElement(old, stored);
  }
}
