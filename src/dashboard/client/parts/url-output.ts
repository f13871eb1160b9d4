/** A URL as image, audio, video or link: the same markup as in prediction-view/url-output.tsx, but for pictures without an address. */
import type { UrlKind } from "../../prediction-view/output-kind.ts";
import { element, foreignLink, link, picture, player } from "./element.ts";
import { zoomButton } from "./zoom.ts";

export function urlOutput(output: UrlKind): HTMLElement {
  const { kind, address } = output;
  switch (kind) {
    case "image": {
      const image = picture(address, output.name);
      const opener = address.startsWith("data:") ? zoomButton(image) : link(address, image);
      opener.dataset.zoom = "";
      return element("figure", "output-item media", opener, download(address, output.name));
    }
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
