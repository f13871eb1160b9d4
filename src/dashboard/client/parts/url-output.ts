/** A URL as image, audio, video or link: the same markup as in prediction-view/url-output.tsx. */
import type { UrlKind } from "../../prediction-view/output-kind.ts";
import { element, foreignLink, link, pictureLink, player } from "./element.ts";

export function urlOutput(output: UrlKind): HTMLElement {
  const { kind, address } = output;
  switch (kind) {
    case "image":
      return element(
        "figure",
        "output-item media",
        pictureLink(address, output.name),
        download(address, output.name),
      );
    case "audio":
    case "video":
      return element(
        "figure",
        "output-item media",
        player(kind, address, output.name),
        download(address, output.name),
      );
    case "file":
      return element("p", "output-item", link(address, output.name));
    case "link":
      return element("p", "output-item", foreignLink(address, output.text));
  }
}

const download = (address: string, name: string): HTMLElement =>
  element("figcaption", "", Object.assign(link(address, "Download"), { download: name }));
