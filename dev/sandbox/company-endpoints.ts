import { z } from 'zod';
import { type Answer, errorAnswer, fieldError, jsonAnswer } from './answers.js';
import { type Endpoint, withToken } from './endpoint.js';
import { businessCheck, invalidBody, parsedBody } from './request-checks.js';
import { productBodies, sandboxReferenceFields } from './ride/catalogue.js';
import type { AddedCode } from './ride/reference-codes.js';
import type { SandboxState } from './sandbox-state.js';

/** What a company has: names and scopes given, bodies published (2.3). The answer to codes accepts or refuses each of them. */
export const companyEndpoints = (state: SandboxState): Endpoint[] => [
  withToken(state.tokens, {
    ...{ operation: 'companySettings', method: 'GET', url: '/v1/companies/settings' },
    refuse: businessCheck(state, 'order'),
    answer: () => answerSettings(state),
  }),
  withToken(state.tokens, {
    ...{ operation: 'products', method: 'POST', url: '/v1/products' },
    refuse: businessCheck(state, 'order'),
    answer: ({ body }) => answerProducts(parsedBody(body)),
  }),
  withToken(state.tokens, {
    ...{ operation: 'addReferenceCode', method: 'POST', url: '/v1/reference-fields/:referenceFieldId/codes' },
    refuse: businessCheck(state, 'company.reference'),
    answer: ({ params, body }) => answerCodes(state, params.referenceFieldId ?? '', parsedBody(body)),
  }),
];

const answerSettings = ({ rideSettings }: SandboxState): Answer =>
  jsonAnswer(200, {
    mandatory_destination: rideSettings.mandatoryDestination,
    allow_multi_riders: true,
    references: sandboxReferenceFields.map(({ id, title }) => ({
      id,
      title,
      mandatory: rideSettings.mandatoryReferences.includes(id),
    })),
    payment_types: ['monthly_invoice'],
  });

const Place = z.looseObject({ lat: z.number().min(-90).max(90), lng: z.number().min(-180).max(180) });
const ProductsBody = z.looseObject({
  origin: Place,
  destination: Place.optional(),
  scheduled_at: z.iso.datetime({ offset: true }).optional(),
});

const polarLatitude = 75; // the sandbox offers no product beyond it, so that tests can see a refusal

function answerProducts(body: unknown): Answer {
  const { data, error } = ProductsBody.safeParse(body);
  if (error) return invalidBody(error);
  if (Math.abs(data.origin.lat) > polarLatitude) {
    return errorAnswer('business', 422, 'area_not_served', 'Nothing can be ordered there', {
      fields: { origin: 'not served' },
    });
  }
  const products = { transportation: productBodies('transportation'), delivery: productBodies('delivery') };
  return jsonAnswer(200, { products });
}

const CodesBody = z.array(z.looseObject({})).min(1);

function answerCodes({ referenceCodes }: SandboxState, referenceFieldId: string, body: unknown): Answer {
  if (!sandboxReferenceFields.some(({ codesId }) => codesId === referenceFieldId.toLowerCase())) {
    return errorAnswer('business', 404, 'reference_field_not_found', 'No such reference field');
  }
  const { data, error } = CodesBody.safeParse(body);
  if (error) return invalidBody(error);
  const added = data.map(({ value }) => referenceCodes.add(referenceFieldId, value));
  const errors = added.flatMap(codeError);
  const codes = added.flatMap((code) => (typeof code === 'string' ? [] : [{ id: code.id, value: code.value }]));
  return jsonAnswer(200, { has_errors: errors.length > 0, data: codes, errors });
}

const reasons = {
  invalid_format: 'Code valid characters are letters and 0-9',
  already_exists: 'Code exists already',
};

function codeError(code: AddedCode, index: number): unknown[] {
  if (typeof code !== 'string') return [];
  const invalid = 'reference_code_invalid';
  const field = fieldError('value', reasons[code], `${invalid}_${code}`);
  return [{ index, code: invalid, title: 'Reference code validation failed', field_errors: [field] }];
}
