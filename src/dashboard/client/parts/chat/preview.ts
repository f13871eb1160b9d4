/** A picture of a message: its preview, or its name where pages load none. */
import type { Picture } from "../../../playground/chat/conversation.ts";
import { element } from "../element.ts";

export function previewView({ preview, name }: Pick<Picture, "preview" | "name">): HTMLElement {
  if (preview === "") return element("span", "box picture-name", name);
  const image = element("img", "");
  image.src = preview;
  image.alt = name;
  return image;
}
