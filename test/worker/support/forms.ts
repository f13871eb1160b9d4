/** Forms with files, as clients of OpenAI send them. */

export const PATH = "/v1/vendora/images/edits";

export type Fields = [name: string, value: string | File][];

export function formOf(...fields: Fields): FormData {
  const form = new FormData();
  for (const [name, value] of fields) form.append(name, value);
  return form;
}

export const pictureOf = (bytes: Uint8Array<ArrayBuffer>, name = "ä b.png", type = "image/png") =>
  new File([bytes], name, { type });
