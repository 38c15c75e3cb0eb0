/**
 * One line of CSV without its line break; fields are quoted where they have to be (RFC 4180 section 2). Spreadsheet formulas are not escaped:
 * no status of the service begins like one.
 */
export function csvLine(fields: readonly string[], separator = ','): string {
  return fields
    .map((field) => (/["\r\n]/.test(field) || field.includes(separator) ? `"${field.replaceAll('"', '""')}"` : field))
    .join(separator);
}
