/** The page of a version whose image lies in the deployment's registry. */
import { expect, it } from "vitest";
import { newImages } from "../support/images.ts";
import { textOf } from "../support/page-text.ts";
import { Visitor } from "../support/visitor.ts";

it("shows the image's size and platform, and that it waits for a first start", async () => {
  const { images, model } = await newImages({ visibility: "public" });
  await images.push("v1", { Entrypoint: ["vllm", "serve"] });
  await images.publish({ image: "v1" });
  await images.publish({ image: "v1", compatibilities: { vendora_chat_completions: true } });
  const page = async (n: number) =>
    textOf((await new Visitor().look(`/models/${model}/versions/${n}`)).html);
  expect(await page(1)).toMatch(/Waiting for a first start.*Image size 6 kB.*linux\/amd64/s);
  expect(await page(2)).not.toContain("Waiting for a first start");
});
