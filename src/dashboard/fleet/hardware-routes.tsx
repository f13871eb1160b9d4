/** `/fleet/hardware`: which classes of machines there are. */
import { slug } from "../../protocol/common.ts";
import { type Hardware, putHardware } from "../../protocol/hardware.ts";
import { checked } from "../../routes/context.ts";
import {
  createHardware,
  deleteHardware,
  getHardware,
  listHardware,
  putHardware as saveHardware,
} from "../../services/runners/hardware.ts";
import { operatorsOnly } from "../access.ts";
import { type PageContext, pages } from "../context.ts";
import { done } from "../flash.ts";
import { blank, type Draft, submit, textOf } from "../form.ts";
import { HardwarePage } from "./hardware.tsx";

const PAGE_SIZE = 50;

const newHardware = putHardware.extend({ identifier: slug });

export const hardwarePages = pages()
  .get("/fleet/hardware", operatorsOnly, (c) => show(c, blank))
  .post("/fleet/hardware", operatorsOnly, async (c) => {
    const {
      done: made,
      draft,
      status,
    } = await submit(c, async (form) => {
      const said = { ...requestOf(form), identifier: textOf(form, "identifier").trim() };
      const { identifier, ...request } = checked(newHardware, said, "body");
      return createHardware(c.var.services, identifier, request);
    });
    if (draft) {
      c.status(status);
      return show(c, draft);
    }
    return done(c, `Hardware class ${made.identifier} created.`, "/fleet/hardware");
  })
  .get("/fleet/hardware/:identifier", operatorsOnly, async (c) =>
    show(c, blank, await getHardware(c.var.services, c.req.param("identifier"))),
  )
  .post("/fleet/hardware/:identifier", operatorsOnly, async (c) => {
    const edited = await getHardware(c.var.services, c.req.param("identifier"));
    const { draft, status } = await submit(c, async (form) =>
      saveHardware(
        c.var.services,
        edited.identifier,
        checked(putHardware, requestOf(form), "body"),
      ),
    );
    if (draft) {
      c.status(status);
      return show(c, draft, edited);
    }
    return done(c, `Hardware class ${edited.identifier} saved.`, "/fleet/hardware");
  })
  .post("/fleet/hardware/:identifier/delete", operatorsOnly, async (c) => {
    const identifier = c.req.param("identifier");
    await deleteHardware(c.var.services, identifier);
    return done(c, `Hardware class ${identifier} deleted.`, "/fleet/hardware");
  });

/** What is left empty has the API's default; what is no number is left to its schema to refuse. */
function requestOf(form: FormData) {
  const numberOf = (name: string) => {
    const text = textOf(form, name).trim();
    if (text === "") return undefined;
    return Number.isNaN(Number(text)) ? text : Number(text);
  };
  return {
    name: textOf(form, "name").trim(),
    gpus: numberOf("gpus"),
    cpus: numberOf("cpus"),
    ram_per_gpu_gb: numberOf("ram_per_gpu_gb"),
    ram_gb: numberOf("ram_gb"),
    price_per_hour: numberOf("price_per_hour") ?? null,
  };
}

/** @param edited the class that is to be changed */
async function show(c: PageContext, draft: Draft, edited?: Hardware) {
  const list = { cursor: c.req.query("cursor"), size: PAGE_SIZE, url: c.req.url };
  const page = await listHardware(c.var.services, list);
  return c.render(<HardwarePage draft={draft} page={page} edited={edited} />, {
    title: "Hardware",
  });
}
