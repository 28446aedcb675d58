// Package sprig stands in for functions of templates in configuration files, of which the development server reads none.
package sprig

import "text/template"

func FuncMap() template.FuncMap { return nil }
