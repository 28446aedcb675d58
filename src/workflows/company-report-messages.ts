import { defineQuery } from '@temporalio/workflow';
import type { CompanyReport } from '../domain/company-report.js';

/** The report as the run knows it. Its signal is that of orders: `deliveryReceived`. */
export const companyReportQuery = defineQuery<CompanyReport>('companyReport');
